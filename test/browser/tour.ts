/** Visits every screen, dialog and state: for screenshots and for the accessibility check. */
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Person } from "./browser.ts";
import type { RuntimeFixture } from "./console-fixture.ts";
import type { Shown } from "./scene.ts";

export const widths: readonly (BrowserContextOptions & { readonly name: string })[] = [
  { name: "desktop", viewport: { width: 1440, height: 900 } },
  { name: "phone", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
];

interface Stop {
  readonly name: string;
  readonly path: string;
  /** Buttons and tabs that are pressed there, one after the other. */
  readonly open?: RegExp | readonly RegExp[];
  /** A field, and what is typed into it then. */
  readonly type?: readonly [label: string, text: string];
  /** A text that appears then. Undefined when a dialog opens. */
  readonly brings?: string;
}

function screens({ mail, critical, edits, quorum, unused }: Shown): readonly Stop[] {
  return [
    { name: "approvals", path: "/approvals" },
    { name: "approval", path: `/approvals/${mail}` },
    { name: "approval-critical", path: `/approvals/${critical}` },
    { name: "approve-critical", path: `/approvals/${critical}`, open: /^Approve.*…/ },
    { name: "approval-quorum", path: `/approvals/${quorum}` },
    { name: "edit-kinds", path: `/approvals/${quorum}`, open: /^Edit…/ },
    { name: "edit-json", path: `/approvals/${quorum}`, open: [/^Edit…/, /^JSON/], brings: "The arguments as JSON" },
    { name: "approval-diff", path: `/approvals/${edits}` },
    { name: "edit", path: `/approvals/${edits}`, open: /^Edit…/, type: ["to", "  replicas: 4"] },
    {
      name: "edit-changes",
      path: `/approvals/${edits}`,
      open: [/^Edit…/, /^Changes/],
      brings: "Nothing is changed yet",
    },
    { name: "remember", path: `/approvals/${edits}`, open: /^Remember…/ },
    { name: "deny", path: `/approvals/${edits}`, open: /^Deny…/ },
    { name: "batch", path: `/approvals/${edits}`, open: /^Review/ },
    { name: "approval-unused", path: `/approvals/${unused}` },
    { name: "decided", path: "/approvals/", open: /^Decided/, brings: "Any outcome" },
    { name: "decided-search", path: "/approvals/", type: ["Search requests", "customers"], brings: "to all customers" },
    { name: "decided-nothing", path: "/approvals/", type: ["Search requests", "nowhere"], brings: "request matches" },
    { name: "remembered", path: "/approvals", open: /^Remembered/, brings: "It is one text." },
    { name: "needs", path: "/needs" },
    { name: "overview", path: "/overview" },
    { name: "help", path: "/overview", open: /^Help/, brings: "JSON" },
    { name: "menu", path: "/overview", open: /^Go to, or do/ },
    { name: "people", path: "/people" },
    { name: "person", path: "/people?person=grace" },
    { name: "person-added", path: "/people", open: /^Add a person/ },
    { name: "groups", path: "/people/groups" },
    { name: "tokens", path: "/people/tokens" },
    { name: "token", path: "/people/tokens", open: /^Make a token/ },
    { name: "runs", path: "/runs" },
    { name: "run", path: "/runs/run-invoices" },
    { name: "run-long", path: "/runs/run-import" },
    { name: "run-script", path: "/runs/run-late-invoices", open: /tool_chain/, brings: "It resumes at this line" },
    { name: "run-script-ended", path: "/runs/run-clocks", open: /tool_chain/, brings: "What it returned" },
    { name: "calls", path: "/calls?search=flaky_fetch" },
    { name: "tools", path: "/tools" },
    { name: "server", path: "/servers/everything" },
    { name: "tool", path: "/tools/send_email" },
    { name: "tool-schema", path: "/tools/update_rows", open: /^Schema/, brings: "At most so many rows." },
    { name: "tool-try", path: "/tools/update_rows", open: /^Try it/, brings: "Only count." },
    { name: "tool-definition", path: "/tools/everything__echo", open: /^Definition/, brings: "everything" },
    { name: "policy", path: "/policy" },
    { name: "policy-change", path: "/policy/change", open: /^Simulate/, brings: "verdicts would change" },
    { name: "policy-effective", path: "/policy/effective" },
    { name: "audit", path: "/audit" },
    { name: "audit-fields", path: "/audit", open: /^More/, brings: "Decided or done by" },
    { name: "audit-event", path: "/audit/12?text=clock_now" },
    { name: "alarms", path: "/overview", open: /^Alarms/ },
    { name: "alarms-page", path: "/alarms" },
    { name: "account", path: "/alarms", open: /Your account/, brings: "Change your password…" },
    { name: "password", path: "/alarms", open: [/Your account/, /^Change your password/] },
  ];
}

/** Every screen and dialog after `scene`, while a long call runs. */
export async function everyScreen(
  person: Person,
  { postern, shown }: { readonly postern: RuntimeFixture; readonly shown: Shown },
  look: (name: string) => Promise<void>,
): Promise<void> {
  const { page } = person;
  postern.stepBack();
  const long = postern.call("long_import", { began: Date.now() }, { run_id: "run-import" });
  long.catch(() => undefined); // if the visit fails, its own error is reported
  let here = "";
  for (const stop of screens(shown)) {
    if (stop.path === here) await closed(page);
    else {
      await page.goto(stop.path);
      await person.live();
      await loaded(page);
    }
    here = stop.path;
    if (stop.name === "run-long") {
      postern.step(1); // progress from before the page was open is not sent again
      await page.getByRole("progressbar").waitFor();
    }
    await reach(page, stop);
    await loaded(page);
    await look(stop.name);
  }
  postern.step(2);
  postern.step(3);
  await long;
}

async function reach(page: Page, { open = [], type, brings }: Stop): Promise<void> {
  const presses = [open].flat();
  for (const name of presses) {
    const what = page.getByRole("button", { name }).or(page.getByRole("tab", { name }));
    await what
      .or(page.locator("summary").filter({ hasText: name }))
      .first()
      .click();
  }
  if (type !== undefined) await page.getByLabel(type[0], { exact: true }).first().fill(type[1]);
  if (brings !== undefined) await page.getByText(brings).first().waitFor();
  else if (presses.length > 0) await page.getByRole("dialog").waitFor();
}

const states = ["approvals", "overview", "runs", "audit"] as const;

/** Empty, loading, failed and unreachable. It stops the runtime. */
export async function everyState(
  person: Person,
  postern: RuntimeFixture,
  look: (name: string) => Promise<void>,
): Promise<void> {
  const { page } = person;
  for (const path of states) {
    await page.goto(`/${path}`);
    await person.live();
    await loaded(page);
    await look(`empty-${path}`);
  }
  const asked = /\/v1\/(approvals|statistics|runs|audit|tools)/;
  await page.route(asked, () => undefined); // never answered
  for (const path of states) {
    await page.goto(`/${path}`);
    await page.getByRole("status", { name: "Loading" }).first().waitFor();
    await look(`loading-${path}`);
  }
  await page.unroute(asked);
  const json = { error: { code: "store_broken", message: "The disk is full: nothing can be read." } };
  await page.route(asked, (route) => route.fulfill({ status: 422, json }));
  for (const path of states) {
    await page.goto(`/${path}`);
    await page.getByRole("alert").first().waitFor();
    await look(`error-${path}`);
  }
  await page.unroute(asked);
  await page.goto("/approvals");
  await person.live();
  await postern.kill();
  await page.locator("p", { hasText: "What you see may be old" }).waitFor();
  await look("reconnecting");
}

/** A person with an account and no role, not signed in. */
export async function withoutRoles(
  { page }: Person,
  who: { readonly name: string; readonly password: string },
  look: (name: string) => Promise<void>,
): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Name").fill(who.name);
  await page.getByLabel("Password").fill(who.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "You have no role here yet" }).waitFor();
  await look("without-roles");
}

/** Closes the dialog before the next one of the same screen. */
export async function closed(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

async function loaded(page: Page): Promise<void> {
  await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
  await page.locator("[data-armed=no]").waitFor({ state: "hidden" });
  await page.evaluate("document.fonts.ready");
}

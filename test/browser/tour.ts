/** A walk past everything there is to see: for pictures, and for whoever looks for what others would stumble over. */
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Person } from "./browser.ts";
import type { House } from "./house.ts";
import type { Shown } from "./scene.ts";

export const widths: readonly (BrowserContextOptions & { readonly name: string })[] = [
  { name: "desk", viewport: { width: 1440, height: 900 } },
  { name: "phone", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
];

interface Stop {
  readonly name: string;
  readonly path: string;
  /** A button that is pressed there. */
  readonly open?: RegExp;
  /** What it brings, where that is no dialog. */
  readonly brings?: string;
}

function screens({ mail, critical, edits, quorum }: Shown): readonly Stop[] {
  return [
    { name: "approvals", path: "/approvals" },
    { name: "approval", path: `/approvals/${mail}` },
    { name: "approval-critical", path: `/approvals/${critical}` },
    { name: "approve-critical", path: `/approvals/${critical}`, open: /^Approve…/ },
    { name: "approval-quorum", path: `/approvals/${quorum}` },
    { name: "approval-diff", path: `/approvals/${edits}` },
    { name: "edit", path: `/approvals/${edits}`, open: /^Edit…/ },
    { name: "remember", path: `/approvals/${edits}`, open: /^Remember…/ },
    { name: "deny", path: `/approvals/${edits}`, open: /^Deny…/ },
    { name: "batch", path: `/approvals/${edits}`, open: /^Decide them together/ },
    { name: "remembered", path: "/approvals", open: /^Remembered/ },
    { name: "deputies", path: "/approvals", open: /^Deputies/ },
    { name: "overview", path: "/overview" },
    { name: "runs", path: "/runs" },
    { name: "run", path: "/runs/run-invoices" },
    { name: "run-long", path: "/runs/run-import" },
    { name: "run-script", path: "/runs/run-late-invoices", open: /tool_chain/, brings: "it goes on where it stands" },
    { name: "tools", path: "/tools" },
    { name: "tool", path: "/tools/send_email" },
    { name: "policy", path: "/policy" },
    { name: "policy-change", path: "/policy/change", open: /^Simulate/, brings: "recorded calls would be decided" },
    { name: "audit", path: "/audit" },
    { name: "audit-event", path: "/audit/12" },
    { name: "alarms", path: "/overview", open: /^Alarms/ },
  ];
}

/** Every screen and dialog of a house in which something has happened, and a long call goes on meanwhile. */
export async function everyScreen(
  person: Person,
  { house, shown }: { readonly house: House; readonly shown: Shown },
  look: (name: string) => Promise<void>,
): Promise<void> {
  const { page } = person;
  house.stepBack();
  const long = house.call("long_import", { began: Date.now() }, { run_id: "run-import" });
  long.catch(() => undefined); // where the walk breaks off, its own mistake is told
  let here = "";
  for (const { name, path, open, brings } of screens(shown)) {
    if (path === here) await closed(page);
    else {
      await page.goto(path);
      await person.live();
      await loaded(page);
    }
    here = path;
    if (name === "run-long") {
      house.step(1); // what it said before the page was there is not told again
      await page.getByRole("progressbar").waitFor();
    }
    if (open !== undefined) await page.getByRole("button", { name: open }).first().click();
    if (brings !== undefined) await page.getByText(brings).waitFor();
    else if (open !== undefined) await page.getByRole("dialog").waitFor();
    await loaded(page);
    await look(name);
  }
  house.step(2);
  house.step(3);
  await long;
}

const states = ["approvals", "overview", "runs", "audit"] as const;

/** Where nothing is, nothing has come yet, nothing comes, and nobody answers. The house does not survive it. */
export async function everyState(person: Person, house: House, look: (name: string) => Promise<void>): Promise<void> {
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
  await house.kill();
  await page.getByText("What you see may be old").waitFor();
  await look("reconnecting");
}

/** Whoever goes on from a dialog to the next one of the same screen closes it. */
export async function closed(page: Page): Promise<void> {
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}

async function loaded(page: Page): Promise<void> {
  await page.locator("[aria-label=Loading]").first().waitFor({ state: "hidden" });
  await page.locator("[data-armed=no]").waitFor({ state: "hidden" });
  await page.evaluate("document.fonts.ready");
}

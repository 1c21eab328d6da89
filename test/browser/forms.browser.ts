/** An approval covers exactly what the form and the card show. */
import type { Locator, Page, Route } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, card } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { watched } from "./presses.ts";
import { setUp } from "./set-up.ts";

const rows = { table: "orders", set: { state: "closed" }, limit: 3 };

const { postern, at } = setUp({
  people: { grace: everyRole, linus: ["approver"] },
  approvals: `  routes:
    - { name: two-people, match: { tools: [update_rows] }, quorum: 2 }
    - { name: typed, match: { tools: [post_text] }, typed_confirmation: true }
`,
});

async function editing(page: Page): Promise<Locator> {
  await armed(page);
  await page.getByRole("button", { name: "Edit…" }).click();
  return page.getByRole("dialog");
}

const yes = (dialog: Locator) => dialog.getByRole("button", { name: "Approve as edited" });

describe("the form of an edit", () => {
  it("remembers the edited call: such calls need no approver, calls as requested still do", async () => {
    const asked = { to: "bob@example.org", subject: "weekly", body: "one" };
    const id = await postern.ask("send_email", asked);
    await using grace = await at(`/approvals/${id}`);
    const dialog = await editing(grace.page);
    await dialog.getByLabel("to", { exact: true }).fill("ada@example.org");
    await dialog.getByRole("checkbox", { name: /^Remember it/ }).check();
    await dialog.getByRole("checkbox", { name: 'to "ada@example.org"' }).waitFor();
    await dialog.getByRole("checkbox", { name: /^body/ }).uncheck();
    const both = dialog.getByRole("button", { name: "Approve as edited, and remember" });
    expect(await both.isDisabled()).toBe(true);
    await dialog.getByLabel("Why is it safe not to ask?").fill("the weekly mail");
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    await both.click();
    await dialog.waitFor({ state: "hidden" }); // the grant applies from the answer on
    expect((await postern.approval(id))["status"]).toBe("approved");
    expect(await postern.call("send_email", { ...asked, to: "ada@example.org", body: "two" })).toMatchObject({
      status: "ok",
    });
    expect(await postern.call("send_email", { ...asked, body: "two" })).toMatchObject({ status: "pending" });
    expect(grace.problems).toEqual([]);
  });

  it("shows and approves a nested argument as another approver edited it", async () => {
    const id = await postern.ask("update_rows", { ...rows, table: "deep" });
    await using grace = await at(`/approvals/${id}`);
    const dialog = await editing(grace.page);
    await using linus = await at(`/approvals/${id}`, "linus");
    const other = await editing(linus.page);
    await other.getByLabel("set").fill('{"state":"DELETED","all":true}');
    await yes(other).click();
    await dialog.getByText("This request changed while you looked at it").waitFor();
    await dialog.getByRole("button", { name: "Understood" }).click();
    expect(JSON.parse(await dialog.getByLabel("set").inputValue())).toEqual({ state: "DELETED", all: true });
    await dialog.getByLabel("limit").fill("1");
    await yes(dialog).click();
    await dialog.waitFor({ state: "hidden" });
    expect(await postern.approval(id)).toMatchObject({
      what: { arguments: { table: "deep", set: { state: "DELETED", all: true }, limit: 1 } },
    });
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it.each([
    ["set", '{"state":"archived",}', "This is not JSON"],
    ["set", '{"id":12345678901234567890}', "cannot be sent as it is written"],
    ["limit", "3e", "This is not a number"],
    ["limit", "2.5", "This is not a whole number"],
  ])("approves nothing while %s holds %s, says why at the field, and stays on it", async (name, text, said) => {
    const id = await postern.ask("update_rows", { ...rows, table: `wrong ${text}` });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    const dialog = await editing(page);
    await dialog.getByLabel("table").fill("typed");
    await expect.poll(() => yes(dialog).isEnabled()).toBe(true);
    const field = dialog.getByLabel(name);
    await field.fill(text);
    expect(await yes(dialog).isDisabled()).toBe(true);
    await dialog.getByRole("alert").getByText(said).waitFor();
    expect(await field.getAttribute("aria-invalid")).toBe("true");
    const told = dialog.locator(`[id="${await field.getAttribute("aria-describedby")}"]`);
    expect(await told.innerText()).toContain(said);
    expect(await problemsOfAxe(page)).toEqual([]);
    await dialog.getByRole("tab", { name: "Changes" }).click();
    expect(await field.inputValue()).toBe(text);
    expect(await dialog.locator("[aria-invalid=true]:focus").count()).toBe(1);
    await field.fill(name === "set" ? '{"state":"archived"}' : "2");
    await yes(dialog).click();
    await dialog.waitFor({ state: "hidden" });
    const typed = name === "set" ? { set: { state: "archived" } } : { limit: 2 };
    expect(await postern.approval(id)).toMatchObject({ what: { arguments: { ...rows, table: "typed", ...typed } } });
    expect(grace.problems).toEqual([]);
  });

  it("of a tried call sends exactly what its fields show", async () => {
    await using grace = await at("/tools/update_rows");
    const { page } = grace;
    await page.getByRole("tab", { name: "Try it" }).click();
    await page.getByLabel("table").fill("tried");
    await page.getByLabel("set").fill('{"state":');
    const call = page.getByRole("button", { name: "Call it" });
    expect(await call.isDisabled()).toBe(true);
    await page.getByRole("alert").getByText("This is not JSON").waitFor();
    await page.getByLabel("set").fill('{"state":"open"}');
    await page.getByLabel("limit").fill("1");
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/v1/calls")),
      call.click(),
    ]);
    expect(sent.postDataJSON()).toMatchObject({ arguments: { table: "tried", set: { state: "open" }, limit: 1 } });
  });
});

describe("a card that is not what would be approved", () => {
  const nothing = "0".repeat(64);
  it.each([
    ["the arguments", (text: string) => text.replaceAll(/"digest":"[0-9a-f]{64}"/g, `"digest":"${nothing}"`)],
    ["the arguments", (text: string) => text.replaceAll('"subject":"true"', '"subject":"false"')],
    ["the preview", (text: string) => text.replaceAll('"summary":"A mail to', '"summary":"No mail to')],
    ["the card", (text: string) => text.replaceAll('"risk_level":"high"', '"risk_level":"medium"')],
    ["the card", (text: string) => text.replaceAll('"agent":"local-agent"', '"agent":"another-agent"')],
  ])("takes a no and no yes: %s (%#)", async (what, forge) => {
    const id = await postern.ask("send_email", { to: "ada@example.org", subject: "true", body: String(forge) });
    await using grace = await at("/approvals");
    const { page } = grace;
    const settled = watched(page);
    const forged = async (route: Route): Promise<void> => {
      if (route.request().method() !== "GET") return route.continue();
      const answer = await route.fetch();
      return route.fulfill({ response: answer, body: forge(await answer.text()) });
    };
    await page.route(/\/v1\/approvals(\/|\?)/, forged);
    await card(page, id);
    await page
      .getByRole("alert")
      .filter({ hasText: "What you see is not what would be approved" })
      .filter({ hasText: what })
      .waitFor();
    expect(await page.locator("[data-verified=no]").count()).toBe(what === "the arguments" ? 1 : 0);
    await approve(page).click({ force: true });
    for (const key of ["a", "e"]) await page.keyboard.press(key);
    await page.getByRole("button", { name: "Remember…" }).click({ force: true });
    await settled();
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await postern.approval(id)).toMatchObject({ status: "pending", votes: [] });
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.keyboard.press("d");
    await page.getByRole("dialog").getByRole("button", { name: "Deny", exact: true }).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("denied");
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});

describe("the message after a decision", () => {
  const told = (page: Page) => page.locator("[aria-live=polite]");

  it("says that a batch needs more approvers, and sends the reason with each request", async () => {
    const run = { run_id: "run-together" };
    const ids = [
      await postern.ask("update_rows", rows, run),
      await postern.ask("update_rows", { ...rows, limit: 4 }, run),
    ];
    await using grace = await at(`/approvals/${ids[0]}`);
    const { page } = grace;
    await page.getByRole("article").getByRole("button", { name: "Review…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("as planned");
    const yes = dialog.getByRole("button", { name: "Approve 2, each once" });
    await expect.poll(() => yes.isEnabled(), { timeout: 20_000 }).toBe(true);
    expect(await problemsOfAxe(page)).toEqual([]);
    await yes.click();
    await told(page).getByText("2 counted, and more people must agree.").waitFor();
    for (const id of ids)
      expect(await postern.approval(id)).toMatchObject({
        status: "pending",
        votes: [{ as: "approved", reason: "as planned" }],
      });
    await using linus = await at(`/approvals/${ids[0]}`, "linus");
    await linus.page.getByRole("article").getByRole("button", { name: "Review…" }).click();
    const skip = linus.page.getByRole("dialog").getByRole("button", { name: "Skip 2" });
    await expect.poll(() => skip.isEnabled(), { timeout: 20_000 }).toBe(true);
    await skip.click();
    for (const id of ids) await expect.poll(async () => (await postern.approval(id))["status"]).toBe("skipped");
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it("does not call a high risk critical when the name is typed", async () => {
    const id = await postern.ask("post_text", { text: "typed" });
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.getByRole("button", { name: "Approve…" }).click();
    await grace.page.getByRole("dialog", { name: "Approve a call of high risk" }).waitFor();
  });
});

describe("the keyboard", () => {
  it("has the focus where it was after a dialog, and on the next card after a decision", async () => {
    const run = { run_id: "run-keyboard" };
    const id = await postern.ask("edit_file", { path: "one.txt", from: "a", to: "b" }, run);
    await postern.ask("edit_file", { path: "two.txt", from: "a", to: "b" }, run);
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    const deny = page.getByRole("button", { name: "Deny…" });
    for (const close of ["Close", "Escape"]) {
      await deny.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      if (close === "Escape") await page.keyboard.press("Escape");
      else {
        await page.getByRole("button", { name: close }).focus();
        await page.keyboard.press("Enter");
      }
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.locator("button:focus", { hasText: "Deny…" }).waitFor();
    }
    await armed(page);
    await page.keyboard.press("a");
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.locator("article:focus").waitFor();
  });
});

it("the whole diff that an approval covers can be read", async () => {
  const to = Array.from({ length: 4_000 }, (_, at) => `line ${at}`).join("\n");
  const id = await postern.ask("edit_file", { path: "long.txt", from: "a", to });
  await using grace = await at(`/approvals/${id}`);
  const { page } = grace;
  expect(await page.getByText("line 3999", { exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: /^Show the other 2,\d+$/ }).click();
  await page.locator("pre div", { hasText: /^line 3999$/ }).waitFor();
});

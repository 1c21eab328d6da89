/** The list of requests: found, counted and ordered by the server, and still where it was after a reload. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { approve, armed, card, mail } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;
const list = (page: Page) => page.getByRole("region", { name: "Requests that wait" });
const rows = (page: Page) => list(page).getByRole("link");
const rowsOf = (set: string) => ({ table: "tickets", set: { state: set }, limit: 3 });

async function askEach(count: number, run: string): Promise<readonly string[]> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  return Promise.all(numbers.map((number) => postern.ask("post_text", { text: `${run} ${number}` }, { run_id: run })));
}

describe("the list of requests", () => {
  it("is searched by the server, in arguments too", async () => {
    const id = await postern.ask("update_rows", rowsOf("golden"), { run_id: "run-search" });
    await postern.ask("update_rows", rowsOf("closed"), { run_id: "run-search" });
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.getByLabel("Search requests").fill("golden tickets");
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await rows(page).getAttribute("href")).toContain(id);
    await page.getByLabel("Search requests").fill("nowhere");
    await page.getByText("No waiting request matches").waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("shows a new critical request first, and says that it is new", async () => {
    await askEach(25, "run-order");
    await using grace = await at("/approvals");
    const { page } = grace;
    await rows(page).nth(10).waitFor();
    await postern.ask("transfer_money", { to: "DE7", amount: 7 });
    await rows(page)
      .first()
      .getByText(/transfer_money/)
      .waitFor();
    await rows(page).first().getByText("new", { exact: true }).waitFor();
    await page.getByRole("button", { name: "New and critical: transfer_money" }).click();
    await page.getByRole("article", { name: "Request to run transfer_money" }).waitFor();
    await rows(page).first().getByText("new", { exact: true }).waitFor({ state: "detached" });
  });

  it("moves no row under the pointer", async () => {
    const [first = ""] = await askEach(3, "run-held");
    await using grace = await at("/approvals");
    const { page } = grace;
    const search = page.getByLabel("Search requests");
    await search.fill("run-held");
    await expect.poll(() => rows(page).count()).toBe(3);
    const row = rows(page).nth(1);
    await row.hover();
    const before = await row.boundingBox();
    const href = await row.getAttribute("href");
    await postern.ask("transfer_money", { to: "run-held", amount: 1 });
    await page.getByText("1 new above: shown when the pointer leaves the list").waitFor();
    await postern.operator("POST", `/v1/approvals/${first}/withdraw`, {});
    await list(page).getByText("waits no longer").waitFor();
    expect(await row.boundingBox()).toEqual(before);
    expect(await row.getAttribute("href")).toBe(href);
    await search.hover();
    await expect.poll(() => rows(page).first().innerText()).toContain("transfer_money");
    await expect.poll(() => rows(page).count()).toBe(3);
    expect(grace.problems).toEqual([]);
  });

  it("counts all similar requests, and denies those that came before", async () => {
    const ids = await askEach(70, "run-storm");
    await using grace = await at(`/approvals/${ids[0]}`);
    const { page } = grace;
    await page.getByRole("link", { name: "70 similar requests" }).waitFor();
    await page.getByRole("article").getByRole("button", { name: "Deny all…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("also those that are not shown").waitFor();
    const later = await postern.ask("post_text", { text: "later" }, { run_id: "run-storm" });
    await dialog.getByRole("button", { name: "Deny all 70", exact: true }).click();
    await page.getByText("70 denied.").waitFor();
    const { groups } = await postern.operator("GET", "/v1/approvals/groups?run_id=run-storm");
    expect(groups).toMatchObject([{ waiting: 1 }]);
    expect(await postern.approval(later)).toMatchObject({ status: "pending" });
  });

  it("is one stop of the tab order, in which arrow keys move", async () => {
    await askEach(3, "run-keys");
    await using grace = await at("/approvals?search=run-keys");
    const { page } = grace;
    await expect.poll(() => rows(page).count()).toBe(3);
    const focused = (): Promise<string | null> => page.locator(":focus").getAttribute("href");
    const hrefs = await Promise.all([0, 1, 2].map((number) => rows(page).nth(number).getAttribute("href")));
    await armed(page);
    await rows(page).first().focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(focused).toBe(hrefs[1]);
    await page.keyboard.press("End");
    await expect.poll(focused).toBe(hrefs[2]);
    await page.keyboard.press("Tab");
    await page.getByRole("button", { name: "Remembered" }).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Shift+Tab");
    await expect.poll(focused).toBe(hrefs[2]);
    await page.keyboard.press("Shift+Tab");
    await page.getByRole("link", { name: "Skip the list" }).and(page.locator(":focus")).press("Enter");
    await page.getByRole("article").and(page.locator(":focus")).waitFor();
  });

  it("keeps its filters in the address", async () => {
    await askEach(1, "run-address");
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.getByRole("button", { name: "For me" }).click();
    await page.getByRole("button", { name: /^high/ }).click();
    await page.getByLabel("Search requests").fill("run-address");
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.reload();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(await page.getByLabel("Search requests").inputValue()).toBe("run-address");
    for (const name of ["For me", /^high/]) await page.getByRole("button", { name, pressed: true }).waitFor();
    await page.goto("/approvals?risk=terrible&mine=maybe&state=odd&tool=");
    await page.getByRole("button", { name: /^All/, pressed: true }).waitFor();
    await page.getByRole("button", { name: "For me", pressed: false }).waitFor();
  });

  it("has “For me” in sight beside counts of every risk", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    const groups = ["safe", "medium", "high", "critical"].map((risk) => ({ risk, waiting: 2_451 }));
    await page.route("**/v1/approvals/groups?by=risk*", (route) => route.fulfill({ json: { groups } }));
    await page.reload();
    await page.getByRole("button", { name: "All 9,804" }).waitFor();
    const [chip, frame] = await Promise.all([
      page.getByRole("button", { name: "For me" }).boundingBox(),
      page.getByRole("group", { name: "Show by risk" }).boundingBox(),
    ]);
    expect(chip?.x).toBeGreaterThanOrEqual(frame?.x ?? Number.POSITIVE_INFINITY);
    expect((chip?.x ?? 0) + (chip?.width ?? 0)).toBeLessThanOrEqual((frame?.x ?? 0) + (frame?.width ?? 0));
  });

  it("does not keep a waiting card beside what was decided", async () => {
    const [id = ""] = await askEach(1, "run-decided");
    await using grace = await at(`/approvals/${id}`);
    await armed(grace.page);
    await grace.page.getByRole("button", { name: "Decided" }).click();
    await grace.page.getByRole("article").waitFor({ state: "detached" });
    expect(new URL(grace.page.url()).pathname).toBe("/approvals");
  });
});

describe("on a phone", () => {
  it("the message after a decision leaves the buttons free, goes at a press, and back leads to the list", async () => {
    await askEach(2, "run-phone");
    await using grace = await at("/approvals?search=run-phone", "grace", phone);
    const { page } = grace;
    await rows(page).first().tap();
    await armed(page);
    await approve(page).tap();
    const message = page.getByRole("group", { name: "Message" }).filter({ hasText: "Approved: " });
    await message.waitFor();
    await armed(page);
    const [box, bar] = await Promise.all([message.boundingBox(), page.locator("[data-armed]").boundingBox()]);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
    await message.getByRole("button", { name: "Dismiss" }).tap();
    await message.waitFor({ state: "detached" });
    await page.goBack();
    await rows(page).first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/approvals");
    expect(grace.problems).toEqual([]);
  });
});

it("an approval is taken back by the message that tells of it", async () => {
  const id = await postern.ask("send_email", mail("undone"));
  await using grace = await at("/approvals");
  await card(grace.page, id);
  await approve(grace.page).click();
  await grace.page.getByRole("button", { name: "Undo" }).click();
  await grace.page.getByRole("group", { name: "Message" }).getByText("withdrawn").waitFor();
  expect(await postern.approval(id)).toMatchObject({ status: "withdrawn" });
});

it("the open call of a run is in the address", async () => {
  await postern.call("clock_now", {}, { run_id: "run-call" });
  await using grace = await at("/runs/run-call");
  const { page } = grace;
  const call = page.getByRole("button", { name: /clock_now/ });
  await call.click();
  await page.getByText("Its events in the audit log").waitFor();
  await page.reload();
  await page.getByText("Its events in the audit log").waitFor();
  expect(await call.getAttribute("aria-expanded")).toBe("true");
});

it("the account's menu closes at Escape and at a press outside", async () => {
  await using grace = await at("/approvals");
  const { page } = grace;
  const menu = page.getByRole("button", { name: "Sign out" });
  const button = page.getByRole("button", { name: "Your account" });
  await button.click();
  await menu.waitFor();
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "hidden" });
  await button.click();
  await menu.waitFor();
  await page.mouse.click(600, 500);
  await menu.waitFor({ state: "hidden" });
  expect(grace.problems).toEqual([]);
});

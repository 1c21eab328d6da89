/** The most urgent request is on top, with any number of requests and any clock of the browser. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { armed, drawn } from "./card.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({
  approvals: "  routes: [{ name: short, match: { tools: [transfer_money] }, ttl_seconds: 120 }]\n",
});

const many = 230;
const list = (page: Page) => page.getByRole("region", { name: "Requests that wait" });
const top = (page: Page) => list(page).getByRole("link").first();
const chip = (page: Page, risk: string) => page.getByRole("button", { name: new RegExp(`^${risk} \\d`) });

async function ask(from: number, to: number): Promise<readonly string[]> {
  const numbers = Array.from({ length: to - from }, (_, at) => from + at);
  return Promise.all(numbers.map((at) => postern.ask("post_text", { text: `number ${at}` }, { run_id: "run-many" })));
}

describe(`${many} requests that have an hour, and a critical one with two minutes`, () => {
  let first = "";
  let urgent = "";

  it("have the urgent one on top, on a new page and on an open one", async () => {
    [first = ""] = await ask(0, many);
    await using grace = await at("/overview");
    const { page } = grace;
    await page.getByText("post_text").first().waitFor();
    const open = await grace.tab("/approvals");
    await chip(open, "All").waitFor();
    expect(await chip(open, "All").innerText()).toBe(`All ${many}`);
    expect(await chip(open, "critical").count()).toBe(0);
    urgent = await postern.ask("transfer_money", { to: "DE1", amount: 5 });

    await top(open).getByText("transfer_money").waitFor();
    await chip(open, "critical").getByText("1").waitFor();
    await expect.poll(() => chip(open, "All").innerText()).toBe(`All ${many + 1}`);
    await page.getByRole("link", { name: "transfer_money" }).first().waitFor();
    await page.getByText(/it expires in 1 min/).waitFor();
    expect(await page.getByRole("list", { name: "By risk" }).innerText()).toMatch(/critical\s+1\s+high\s+230/);
    await page.goto("/approvals");
    await top(page).getByText("transfer_money").waitFor();
    expect(new URL(page.url()).pathname).toMatch(urgent); // and a wide screen opens it
    await chip(page, "high").click();
    await top(page).getByText("post_text").waitFor();
    await chip(page, "critical").click();
    await expect.poll(() => list(page).getByRole("link").count()).toBe(1);
    await chip(page, "All").click();
    expect(grace.problems).toEqual([]);
  });

  it("show a new request beyond the pages read so far only when its page is read", async () => {
    await using grace = await at("/approvals");
    const { page } = grace;
    await top(page).getByText("transfer_money").waitFor();
    await ask(many, many + 3);
    await expect.poll(() => chip(page, "All").innerText()).toBe(`All ${many + 4}`);
    await drawn(page);
    const length = async (): Promise<number> =>
      Number(await top(page).locator("xpath=..").getAttribute("aria-setsize"));
    expect(await length()).toBe(100);
    await postern.operator("POST", `/v1/approvals/${first}/withdraw`, {});
    await expect.poll(() => chip(page, "All").innerText()).toBe(`All ${many + 3}`); // the page received the event
    expect(await length()).toBe(100);
    const seen = await scrolled(page);
    expect(seen.at(-1)).toBe(many + 3);
    await postern.operator("POST", `/v1/approvals/${urgent}/withdraw`, {});
    await top(page).getByText("post_text").waitFor();
    expect(grace.problems).toEqual([]);
  });
});

it("a request withdrawn while its page is being read is not in the list", async () => {
  const [gone = ""] = await ask(many + 3, many + 4); // the least urgent: at the end
  await using grace = await at("/approvals");
  const { page } = grace;
  await top(page).waitFor();
  const before = Number(/\d+/.exec(await chip(page, "All").innerText()));
  let isOld = false;
  await page.route(/\/v1\/approvals\?.*after=/, async (route) => {
    const answer = await route.fetch();
    if (!isOld && (await answer.text()).includes(gone)) {
      isOld = true;
      await postern.operator("POST", `/v1/approvals/${gone}/withdraw`, {});
      await expect.poll(() => chip(page, "All").innerText()).toBe(`All ${before - 1}`);
    }
    await route.fulfill({ response: answer });
  });
  await scrolled(page);
  expect(isOld).toBe(true);
  const last = list(page).locator("li").last();
  await expect.poll(() => last.getAttribute("aria-setsize")).toBe(String(before - 1));
  expect(grace.problems).toEqual([]);
});

/** How long the list was, step by step, until its end was seen. */
async function scrolled(page: Page): Promise<readonly number[]> {
  const seen: number[] = [];
  const isAtEnd = async (): Promise<boolean> => {
    await page.evaluate(
      `{ const list = document.querySelector('[aria-label^="Requests that wait"]'); list.scrollTop = list.scrollHeight; }`,
    );
    const last = list(page).locator("li").last();
    const [size, position] = [await last.getAttribute("aria-setsize"), await last.getAttribute("aria-posinset")];
    seen.push(Number(size));
    return size === position && Number(size) > 200;
  };
  await expect.poll(isAtEnd, { timeout: 10_000 }).toBe(true);
  return seen;
}

describe.each([2, -2])("a browser whose clock is %i hours off", (hours) => {
  it("shows the time left by the server's clock, and accepts decisions", async () => {
    const id = await postern.ask("send_email", { to: "ada@example.org", subject: `${hours}`, body: "x" });
    await using grace = await at("/approvals");
    const { page } = grace;
    await page.addInitScript(`{
      const { now } = Date;
      Date.now = () => now() + ${hours} * 3_600_000;
    }`);
    await page.goto(`/approvals/${id}`);
    await armed(page);
    const header = page.getByRole("article").locator("header").first();
    await expect.poll(() => header.innerText()).toMatch(/Asked (now|\d+s ago)\. Expires in (59 min|1 h 0 min)/);
    await page.getByRole("button", { name: "Approve once" }).click();
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
    expect(grace.problems).toEqual([]);
  });
});

it("an expired request that is not swept yet cannot be decided, and says so", async () => {
  const id = await postern.ask("send_email", { to: "ada@example.org", subject: "late", body: "x" });
  await using grace = await at("/approvals");
  const { page } = grace;
  const past = new Date(Date.now() - 1_000).toISOString();
  await page.route(`**/v1/approvals/${id}`, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...JSON.parse(await answer.text()), expires_at: past } });
  });
  await page.goto(`/approvals/${id}`);
  await page.getByText("It has expired: it cannot be approved any more, and the tool does not run.").waitFor();
  await page.getByText("without a decision, so the tool does not run").waitFor();
  expect(await page.getByRole("button", { name: "Approve once" }).count()).toBe(0);
  expect(await page.getByText("denied in expired").count()).toBe(0);
});

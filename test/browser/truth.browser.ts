/** Numbers, states and sentences of the console are true, and say what they are about. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { approve, armed, card, mail } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole, linus: ["approver"] } });

const rows = (page: Page) => page.getByRole("region", { name: /^Requests that/ }).getByRole("link");
const line = (page: Page, table: string, name: string) =>
  page.getByRole("region", { name: table }).getByRole("row").filter({ hasText: name });

describe("numbers", () => {
  it("count held calls and decisions, also those from before a restart", async () => {
    const ids = await Promise.all([1, 2, 3].map((number) => postern.ask("send_email", mail(`counted ${number}`))));
    await postern.operator("POST", `/v1/approvals/${ids[0]}/approve`, {});
    await postern.operator("POST", `/v1/approvals/${ids[1]}/deny`, {});
    await postern.kill("SIGTERM");
    await postern.start();
    await using grace = await at("/overview");
    const { page } = grace;
    await page.getByRole("heading", { name: "Tools by calls in the last 24 hours" }).waitFor();
    const tool = line(page, "Tools, the busiest first", "send_email");
    await expect.poll(() => tool.getByRole("cell").nth(2).innerText()).toBe("3"); // needed approval
    await page.getByText("1 approved, 1 denied.").waitFor();
    await line(page, "Who decided", "operator").waitFor();
    await page.getByRole("button", { name: "The last 7 days" }).click();
    await page.getByRole("heading", { name: "Calls a day, in the last 7 days" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Decisions in the last 7 days" }).waitFor();
    await page.getByText("1 approved, 1 denied.").waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("say what each level of autonomy does to the tools that there are", async () => {
    await using grace = await at("/overview");
    const { lines } = await postern.operator("GET", "/v1/policy?agent=local-agent&autonomy=A2");
    const blocked = (lines as readonly { readonly verdict: string }[]).filter(({ verdict }) => verdict === "BLOCK");
    expect(blocked.length).toBeGreaterThan(0);
    const level = grace.page.getByRole("button", { name: /^A2/ });
    await level.getByText(blocked.length === 1 ? "1 is blocked" : `${blocked.length} are blocked`).waitFor();
  });
});

describe("an unknown outcome", () => {
  it("has one word on all screens, and the tool is asked only if it can answer", async () => {
    void postern.call("slow_import", {}, { run_id: "run-lost" }).catch(() => undefined);
    const held = await postern.ask("send_email", mail("lost"), { run_id: "run-lost" });
    await expect.poll(() => postern.runs).toContain("slow");
    await postern.kill("SIGKILL");
    await postern.start();
    await using grace = await at("/runs/run-lost");
    const { page } = grace;
    const run = page.getByRole("region", { name: "Runs" }).getByRole("link", { name: /run-lost/ });
    await run.getByText("1 unknown").waitFor();
    expect(await run.innerText()).not.toMatch(/failed|stopped/);
    await run.getByText("1 waiting").waitFor();
    await page.getByRole("button", { name: /slow_import/ }).click();
    await page.getByRole("button", { name: "I have looked" }).waitFor();
    await page.getByText("Its events in the audit log").waitFor();
    expect(await page.getByRole("button", { name: "Ask the tool" }).count()).toBe(0);
    await postern.operator("POST", `/v1/approvals/${held}/withdraw`, {});
  });

  it("of an approved call is on its card, beside the approval", async () => {
    const id = await postern.ask("long_export", {}, { run_id: "run-lost-export" });
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    postern.step(1);
    void postern.call("long_export", {}, { run_id: "run-lost-export" }).catch(() => undefined);
    await expect.poll(async () => (await postern.approval(id))["status"]).toBe("used");
    await postern.kill("SIGKILL");
    await postern.start();
    await using grace = await at(`/approvals/${id}`);
    const header = grace.page.getByRole("article").locator("header").first();
    await header.getByText("unknown", { exact: true }).waitFor();
    await header.getByText("asked to run this").waitFor();
    await grace.page.getByText("verified: exactly this was approved").waitFor();
    expect(await grace.page.getByText("What will happen").count()).toBe(0);
    expect(await grace.page.getByRole("article").getByRole("listitem").filter({ hasText: "long_export" }).count()).toBe(
      0,
    );
  });
});

describe("texts", () => {
  it("of other scripts are in order, and no letter of an escape belongs to their words", async () => {
    const body = "First line\nשלום לכם\nשורה?\tabc 123";
    const id = await postern.ask("send_email", { ...mail("scripts"), body });
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await page.locator("[data-verified=yes]").waitFor();
    expect(await page.locator("article [title^='U+05']").count()).toBe(0);
    const places = await page.evaluate<readonly number[]>(`(() => {
      const found = [...document.querySelectorAll("article pre bdi")].filter((one) => /שורה|שלום|abc 123/.test(one.textContent));
      return found.map((one) => { const { top, left } = one.getBoundingClientRect(); return Math.round(top) * 10_000 + left; });
    })()`);
    expect(places).toHaveLength(3); // each line on its own, in the order of the text
    expect([...places].sort((a, b) => a - b)).toEqual(places);
  });

  it("of a row are cut where the row ends, not before a long word", async () => {
    const summary = `Refunds 1249.9 EUR on ch_${"3Pq8ZzLkdIwHu7ix".repeat(8)}`;
    await postern.ask("post_text", { text: summary }, { run_id: "run-cut" });
    await using grace = await at("/approvals?search=Refunds");
    const { page } = grace;
    await expect.poll(() => rows(page).count()).toBe(1);
    const [top, later] = await page.evaluate<readonly [number, number]>(`(() => {
      const text = [...document.querySelectorAll("section a bdi")].find((one) => one.textContent.startsWith("Refunds")).firstChild;
      const topOf = (at) => { const range = document.createRange(); range.setStart(text, at); range.setEnd(text, at + 1); return range.getBoundingClientRect().top; };
      return [topOf(0), topOf(30)];
    })()`);
    expect(later).toBe(top);
    expect(await rows(page).innerText()).toMatch(/\b5\d min$/m); // without seconds
  });

  it("grow with the size that the reader chose in the browser", async () => {
    await using grace = await at("/approvals");
    const sizes = await grace.page.evaluate<readonly string[]>(`(() => {
      const rules = (list) => [...list].flatMap((rule) => rule.cssRules?.length ? [rule, ...rules(rule.cssRules)] : [rule]);
      const all = [...document.styleSheets].flatMap((sheet) => rules(sheet.cssRules));
      return all.filter((rule) => rule.selectorText === ":root" && rule.style.fontSize).map((rule) => rule.style.fontSize);
    })()`);
    expect(sizes.length).toBeGreaterThan(0);
    for (const size of sizes) expect(size).toMatch(/%$/);
  });

  it("of a lost race name no ids", async () => {
    const id = await postern.ask("send_email", mail("raced"));
    await using linus = await at("/approvals", "linus");
    const { page } = linus;
    await page.route("**/v1/events", (route) => route.abort());
    await card(page, id);
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    await armed(page);
    await approve(page).click();
    await page.getByRole("alert").getByText("This request is approved by operator already.").waitFor();
  });
});

/** Decided requests are found again and can be revoked before they run. Waiting requests are found by search. */
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, mail } from "./card.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({
  people: { grace: everyRole, linus: ["approver"] },
  approvals:
    "  routes: [{ name: graces, match: { tools: [update_rows] }, to: { users: [grace] } }, { name: late, match: { tools: [post_text] }, to: { users: [grace] }, escalate_after_seconds: 1800, escalate_to: { users: [linus] } }]\n",
});

const status = async (id: string): Promise<unknown> => (await postern.approval(id))["status"];

describe("the tab Decided", () => {
  it("finds an approval that has not run, revokes it and shows its end", async () => {
    const denied = await postern.ask("send_email", mail("denied"));
    await postern.operator("POST", `/v1/approvals/${denied}/deny`, {});
    const id = await postern.ask("send_email", { ...mail("yes"), to: "back@example.org" });
    await postern.ask("send_email", mail("waits"));
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    await approve(page).click();
    await page.getByText("Approved: ").waitFor();
    await page.getByRole("button", { name: "Decided" }).click();
    const list = page.getByRole("region", { name: "Requests that were decided" });
    await expect
      .poll(() => list.getByRole("link").allInnerTexts())
      .toEqual([expect.stringMatching(/back@example\.org[\s\S]*approved/), expect.stringMatching(/denied/)]);
    await page.getByRole("button", { name: "Approved, not run yet" }).click();
    await expect.poll(() => list.getByRole("link").count()).toBe(1);
    await list.getByRole("link").click();
    await armed(page);
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.getByRole("button", { name: "Revoke" }).click();
    await expect.poll(() => status(id)).toBe("withdrawn");
    await page.getByText("No approval is unused").waitFor();
    expect(page.url()).toContain(id); // the decided request stays open
    await page.getByRole("button", { name: "Any outcome" }).click();
    await list
      .getByRole("link", { name: /back@example\.org/ })
      .getByText("withdrawn", { exact: true })
      .waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("searches the decided requests", async () => {
    await using grace = await at("/approvals");
    await grace.page.getByRole("button", { name: "Decided" }).click();
    const list = grace.page.getByRole("region", { name: "Requests that were decided" });
    await grace.page.getByLabel("Search requests").fill("back@example");
    await expect.poll(() => list.getByRole("link").count()).toBe(1);
    await grace.page.getByLabel("Search requests").fill("nowhere");
    await grace.page.getByText("No decided request matches").waitFor();
  });
});

describe("the waiting requests", () => {
  it("are found by tool, agent and run", async () => {
    await postern.ask("edit_file", { path: "a.txt", from: "1", to: "2" }, { run_id: "run-searched" });
    await postern.ask("send_email", { ...mail("x"), to: "found@example.org" }, { run_id: "run-other" });
    await using grace = await at("/approvals");
    const list = grace.page.getByRole("region", { name: "Requests that wait" });
    for (const words of ["edit_file", "run-searched", "local-agent edit"]) {
      await grace.page.getByLabel("Search requests").fill(words);
      await expect.poll(() => list.getByRole("link").allInnerTexts()).toEqual([expect.stringContaining("edit_file")]);
    }
    await grace.page.getByLabel("Search requests").fill("run-nowhere");
    await grace.page.getByText("No waiting request matches").waitFor();
  });

  it("are counted above the list for the approvers who may decide them", async () => {
    await postern.ask("update_rows", { table: "t", set: { a: 1 }, limit: 1 });
    const waiting = (await postern.operator("GET", "/v1/approvals?state=pending&limit=1"))["waiting"] as object;
    const all = Object.values(waiting).reduce((sum: number, count: number) => sum + count, 0);
    await using grace = await at("/approvals");
    await expect.poll(() => grace.page.title()).toContain(`(${all})`);
    await using linus = await at("/approvals", "linus");
    await expect.poll(() => linus.page.title()).toContain(`(${all - 1})`);
  });
});

describe("a request that is escalated when no approver answers", () => {
  it("shows to whom and when", async () => {
    const id = await postern.ask("post_text", { text: "late" });
    await using grace = await at(`/approvals/${id}`);
    await grace.page.getByText(/If it is not decided in (29|30) min/).waitFor();
  });
});

describe("remembered approvals", () => {
  it("names the run, and is shown after it has ended too", async () => {
    const id = await postern.ask("edit_file", { path: "r", from: "1", to: "2" }, { run_id: "run-remembered" });
    const remember = { scope: {}, for: "run", reason: "the same file" };
    const { grant } = await postern.operator("POST", `/v1/approvals/${id}/approve`, { remember });
    await using grace = await at("/approvals");
    await grace.page.getByRole("button", { name: "Remembered" }).click();
    const dialog = grace.page.getByRole("dialog", { name: "Remembered approvals" });
    await dialog.getByText("run-remembered").waitFor();
    await postern.operator("POST", `/v1/grants/${(grant as { readonly grant_id: string }).grant_id}/revoke`, {});
    await dialog.getByText("Nothing is remembered").waitFor();
    await dialog.getByRole("button", { name: "Show 1 that has ended" }).click();
    await dialog.getByText(/Revoked by operator/).waitFor();
    expect(await problemsOfAxe(grace.page)).toEqual([]);
  });
});

/** Groups of similar requests, the pauses of an agent and a run, and a batch as a table. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { everyRole } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp({ people: { grace: everyRole, linus: ["viewer"] } });
const run = { run_id: "storm-1" };
const phone = { viewport: { width: 390, height: 844 } };

const groups = (page: Page) => page.getByRole("list", { name: "Many similar requests" });
const stopped = (page: Page) => page.getByRole("region", { name: "Stopped" });

function askMails(count: number): Promise<readonly string[]> {
  const given = (number: number) => ({ to: "ada@example.org", subject: `Invoice ${number}`, body: "It is due." });
  return Promise.all(Array.from({ length: count }, (_, at) => postern.ask("send_email", given(at), run)));
}

describe("a storm of requests", () => {
  it("is one group above the list, whose agent is paused and resumed, with all that people see of it", async () => {
    const [first = ""] = await askMails(60);
    await using linus = await at("/runs", "linus");
    await using grace = await at("/approvals");
    const { page } = grace;
    await groups(page).getByRole("link", { name: "send_email × 60" }).waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    await groups(page).getByRole("button", { name: "Pause agent…" }).click();
    const dialog = page.getByRole("dialog", { name: "Pause agent?" });
    await dialog.getByText("local-agent").waitFor();
    await dialog.getByLabel("Reason").fill("it loops");
    await dialog.getByRole("button", { name: "Pause agent", exact: true }).click();
    await stopped(page).getByText("Agent local-agent paused").waitFor();
    await stopped(linus.page).getByText("by grace (session:grace)").waitFor();
    await stopped(linus.page).getByText("it loops").waitFor();
    expect(await stopped(linus.page).getByRole("button").count()).toBe(0);
    expect(await problemsOfAxe(page)).toEqual([]);
    // What it asked for stays and can be decided; an approved call does not run.
    await postern.operator("POST", `/v1/approvals/${first}/approve`, {});
    expect(await postern.call("clock_now", {}, { run_id: "other" })).toMatchObject({ refusal: { code: "paused" } });
    expect(await postern.approval(first)).toMatchObject({ status: "approved" });
    await stopped(page).getByRole("button", { name: "Resume agent…" }).click();
    await page.getByRole("button", { name: "Resume agent", exact: true }).click();
    await stopped(page).waitFor({ state: "detached" });
    await stopped(linus.page).waitFor({ state: "detached" });
    expect(await postern.call("clock_now", {}, { run_id: "other" })).toMatchObject({ status: "ok" });
    expect([...grace.problems, ...linus.problems]).toEqual([]);
  });

  it("is paused at its run's page, and found from its alarm", async () => {
    await using grace = await at("/runs/storm-1");
    const { page } = grace;
    await page.getByRole("button", { name: "Pause run…" }).click();
    await page.getByRole("dialog", { name: "Pause run?" }).waitFor();
    await page.keyboard.type("look at it first"); // the field of the reason has the focus
    await page.getByRole("button", { name: "Pause run", exact: true }).click();
    await stopped(page).getByText("Run storm-1 paused").waitFor();
    await stopped(page).getByText("look at it first").waitFor();
    expect(await postern.call("clock_now", {}, run)).toMatchObject({ refusal: { code: "paused" } });
    expect(await postern.call("clock_now", {}, { run_id: "other" })).toMatchObject({ status: "ok" });
    await page.getByRole("main").getByRole("button", { name: "Resume run…" }).click();
    await page.getByRole("button", { name: "Resume run", exact: true }).click();
    await stopped(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Alarms: / }).click();
    const alarms = page.getByRole("dialog", { name: "Alarms" });
    await alarms.getByRole("button", { name: "Pause agent…" }).waitFor();
    await alarms.getByRole("link", { name: "Look at the requests" }).click();
    await page.waitForURL(/\/approvals.*run_id=storm-1/);
    await groups(page)
      .getByRole("link", { name: /^send_email × / })
      .waitFor();
    expect(grace.problems).toEqual([]);
  });

  it("is decided in a table of what differs, and denied as a whole", async () => {
    await using grace = await at("/approvals?run_id=storm-1", "grace", phone);
    const { page } = grace;
    await groups(page).getByRole("button", { name: "Review…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("The first 50 of 59 are shown.").waitFor();
    const table = dialog.getByRole("table");
    await table.getByRole("columnheader", { name: "subject" }).waitFor();
    expect(await table.getByRole("columnheader", { name: "body" }).count()).toBe(0);
    expect(await dialog.getByText("It is due.").count()).toBe(1);
    await dialog.getByText("50 previews are not open yet").waitFor();
    await dialog.getByRole("button", { name: "Open all" }).click();
    await dialog.getByText("not open yet").waitFor({ state: "detached" });
    await expect.poll(() => dialog.getByText("It is due.").count()).toBeGreaterThan(50);
    expect(await problemsOfAxe(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await groups(page).getByRole("button", { name: "Deny all…" }).click();
    await postern.ask("send_email", { to: "ada@example.org", subject: "later", body: "x" }, run);
    await page.getByRole("button", { name: /^Deny all \d/ }).click();
    await page.getByText("59 denied.").waitFor();
    const answer = await postern.operator("GET", "/v1/approvals/groups?run_id=storm-1");
    expect(answer).toMatchObject({ groups: [{ waiting: 1 }] });
    expect(grace.problems).toEqual([]);
  });
});

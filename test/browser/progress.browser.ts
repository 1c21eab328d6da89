/** The progress of long calls, on each screen that shows their run. */
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();
beforeEach(() => postern.stepBack());

const bar = (page: Page, tool = "long_import") => page.getByRole("progressbar", { name: `Progress of ${tool}` });
const row = (page: Page, words: RegExp) => page.getByRole("button", { name: words });

describe("the progress of a long call", () => {
  it("shows text and fraction in the timeline of the run until the call ends", async () => {
    const run = { run_id: "run-long" };
    await postern.call("clock_now", {}, run);
    await using grace = await at("/runs/run-long");
    const { page } = grace;
    await row(page, /clock_now/).waitFor();
    const outcome = postern.call("long_import", {}, run);
    await row(page, /long_import running/).waitFor();
    await page.getByText("reading the list").waitFor();
    expect(await bar(page).getAttribute("aria-valuenow")).toBeNull();
    postern.step(1);
    await page.getByText("40 of 100 rows").waitFor();
    expect(await bar(page).getAttribute("aria-valuenow")).toBe("40");
    await page.getByText("40 %").waitFor();
    await page.getByText("RLO").waitFor(); // the text of a tool is text
    expect(await problemsOfAxe(page)).toEqual([]);
    postern.step(2);
    await page.getByText("100 %").waitFor();
    postern.step(3);
    expect(await outcome).toMatchObject({ status: "ok" });
    await row(page, /long_import ran ok/).waitFor();
    expect(await bar(page).count()).toBe(0);
    expect(grace.problems).toEqual([]);
  });

  it("is on the card of a request of the same run, among its calls", async () => {
    const run = { run_id: "run-beside" };
    const id = await postern.ask("send_email", { to: "ada@example.org", subject: "beside", body: "x" }, run);
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await page.getByText("Nothing: no other call of it ran.").waitFor();
    const outcome = postern.call("long_import", {}, run);
    const past = page.getByRole("listitem").filter({ hasText: "long_import" });
    await past.getByText("reading the list").waitFor();
    await past.getByText("running").waitFor();
    postern.step(1);
    await past.getByText("40 %").waitFor();
    expect(await problemsOfAxe(page)).toEqual([]);
    postern.step(2);
    await past.getByText("100 %").waitFor();
    postern.step(3);
    await outcome;
    await past.getByText("ran ok", { exact: true }).waitFor();
    expect(await bar(page).count()).toBe(0);
  });

  it("is shown to the person who tries the tool until the outcome arrives", async () => {
    await using grace = await at("/tools/long_import");
    const { page } = grace;
    await page.getByRole("tab", { name: "Try it" }).click();
    const other = postern.call("long_import", { other: true }, { run_id: "run-other" });
    await page.getByRole("button", { name: "Call it" }).click();
    await page.getByText("reading the list").waitFor();
    postern.step(1);
    await page.getByText("40 of 100 rows").waitFor();
    expect(await bar(page).count()).toBe(1);
    postern.step(2);
    await page.getByText("100 of 100 rows").waitFor();
    postern.step(3);
    await page.getByText("ran ok", { exact: true }).waitFor();
    expect(await bar(page).count()).toBe(0);
    await other;
    expect(grace.problems).toEqual([]);
  });

  it("is on a screen that is opened later, for a call that waited for approval too", async () => {
    const run = { run_id: "run-approved" };
    const id = await postern.ask("long_export", {}, run);
    await using grace = await at("/overview");
    const { page } = grace;
    await postern.operator("POST", `/v1/approvals/${id}/approve`, {});
    const outcome = postern.call("long_export", {}, run);
    await page.waitForResponse((answer) => answer.url().includes("/v1/statistics")); // the page received the event
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("link", { name: /run-approved/ }).click();
    await bar(page, "long_export").waitFor();
    await page.getByText("reading the list").waitFor();
    for (const step of [1, 2, 3] as const) {
      postern.step(step);
      if (step === 1) await page.getByText("40 %").waitFor();
      if (step === 2) await page.getByText("100 %").waitFor();
    }
    expect(await outcome).toMatchObject({ status: "ok" });
    await row(page, /long_export ran ok/).waitFor();
  });

  it("comes with the event: it shows while no request of the page is answered", async () => {
    const run = { run_id: "run-quiet" };
    await using grace = await at("/overview");
    const { page } = grace;
    const outcome = postern.call("long_import", {}, run);
    await page.goto("/runs/run-quiet");
    await row(page, /long_import running/).waitFor();
    await page.route("**/v1/runs/**", (route) => route.abort());
    postern.step(1);
    await page.getByText("40 %").waitFor();
    postern.step(2);
    await page.getByText("100 %").waitFor();
    await page.unroute("**/v1/runs/**");
    postern.step(3);
    await outcome;
    await row(page, /long_import ran ok/).waitFor();
  });
});

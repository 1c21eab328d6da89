/** Long calls say how far they are (SPEC 14.2): on the page as they say it, on the screens where one looks at their run. */
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, it } from "vitest";
import { stumbles } from "./axe.ts";
import { stage } from "./stage.ts";

const { house, at } = stage();
beforeEach(() => house.stepBack());

const bar = (page: Page, tool = "long_import") => page.getByRole("progressbar", { name: `Progress of ${tool}` });
const row = (page: Page, words: RegExp) => page.getByRole("button", { name: words });

describe("the progress of a long call", () => {
  it("grows in the run's timeline as the tool says it, by its words and its fraction, and ends with the call", async () => {
    const run = { run_id: "run-long" };
    await house.call("clock_now", {}, run);
    await using grace = await at("/runs/run-long");
    const { page } = grace;
    await row(page, /clock_now/).waitFor();
    const outcome = house.call("long_import", {}, run);
    await row(page, /long_import running/).waitFor();
    await page.getByText("reading the list").waitFor();
    expect(await bar(page).getAttribute("aria-valuenow")).toBeNull();
    house.step(1);
    await page.getByText("40 of 100 rows").waitFor();
    expect(await bar(page).getAttribute("aria-valuenow")).toBe("40");
    await page.getByText("40 %").waitFor();
    await page.getByText("RLO").waitFor(); // a tool's words, and no more than words
    expect(await stumbles(page)).toEqual([]);
    house.step(2);
    await page.getByText("100 %").waitFor();
    house.step(3);
    expect(await outcome).toMatchObject({ status: "ok" });
    await row(page, /long_import ok/).waitFor();
    expect(await bar(page).count()).toBe(0);
    expect(grace.problems).toEqual([]);
  });

  it("stands on the card of a request of the same run, among what the run did", async () => {
    const run = { run_id: "run-beside" };
    const id = await house.ask("send_email", { to: "ada@example.org", subject: "beside", body: "x" }, run);
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await page.getByText("Nothing else: this is its first call.").waitFor();
    const outcome = house.call("long_import", {}, run);
    const past = page.getByRole("listitem").filter({ hasText: "long_import" });
    await past.getByText("reading the list").waitFor();
    await past.getByText("running").waitFor();
    house.step(1);
    await past.getByText("40 %").waitFor();
    expect(await stumbles(page)).toEqual([]);
    house.step(2);
    await past.getByText("100 %").waitFor();
    house.step(3);
    await outcome;
    await past.getByText("ok", { exact: true }).waitFor();
    expect(await bar(page).count()).toBe(0);
  });

  it("is told to who tries the tool, until its outcome is there", async () => {
    await using grace = await at("/tools/long_import");
    const { page } = grace;
    await page.getByRole("tab", { name: "Try it" }).click();
    const other = house.call("long_import", { other: true }, { run_id: "run-other" });
    await page.getByRole("button", { name: "Call it" }).click();
    await page.getByText("reading the list").waitFor();
    house.step(1);
    await page.getByText("40 of 100 rows").waitFor();
    expect(await bar(page).count()).toBe(1);
    house.step(2);
    await page.getByText("100 of 100 rows").waitFor();
    house.step(3);
    await page.getByText("ok", { exact: true }).waitFor();
    expect(await bar(page).count()).toBe(0);
    await other;
    expect(grace.problems).toEqual([]);
  });

  it("is known to a screen that is opened later, also of a call that waited for a person first", async () => {
    const run = { run_id: "run-approved" };
    const id = await house.ask("long_export", {}, run);
    await using grace = await at("/overview");
    const { page } = grace;
    await house.operator("POST", `/v1/approvals/${id}/approve`, {});
    const outcome = house.call("long_export", {}, run);
    await page.waitForResponse((answer) => answer.url().includes("/v1/statistics")); // the page heard of it
    await page.getByRole("link", { name: "Runs" }).click();
    await page.getByRole("link", { name: /run-approved/ }).click();
    await bar(page, "long_export").waitFor();
    await page.getByText("reading the list").waitFor();
    for (const step of [1, 2, 3] as const) {
      house.step(step);
      if (step === 1) await page.getByText("40 %").waitFor();
      if (step === 2) await page.getByText("100 %").waitFor();
    }
    expect(await outcome).toMatchObject({ status: "ok" });
    await row(page, /long_export ok/).waitFor();
  });

  it("is told whole: it shows while nothing that is asked for is answered", async () => {
    const run = { run_id: "run-quiet" };
    await using grace = await at("/overview");
    const { page } = grace;
    const outcome = house.call("long_import", {}, run);
    await page.goto("/runs/run-quiet");
    await row(page, /long_import running/).waitFor();
    await page.route("**/v1/runs/**", (route) => route.abort());
    house.step(1);
    await page.getByText("40 %").waitFor();
    house.step(2);
    await page.getByText("100 %").waitFor();
    await page.unroute("**/v1/runs/**");
    house.step(3);
    await outcome;
    await row(page, /long_import ok/).waitFor();
  });
});

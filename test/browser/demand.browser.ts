/** Before a decision, a card shows what is needed for it and what it covers. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { armed } from "./card.ts";
import { everyRole, type RuntimeFixture } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const rows = { table: "invoices", set: { state: "closed" }, limit: 3 };

/** More than a thousand rows at once are critical. */
async function withRisks({ folder }: RuntimeFixture): Promise<void> {
  const file = join(folder, "tools.ts");
  const tools = readFileSync(file, "utf8");
  const risky = `name: "update_rows", classifyRisk: ({ limit }) => ({ risk: limit > 1000 ? "critical" : "high" }),`;
  writeFileSync(file, tools.replace(`name: "update_rows",`, risky));
}

const { postern, at } = setUp({
  people: { grace: everyRole },
  prepare: withRisks,
  server: true,
});

const status = async (id: string): Promise<unknown> => (await postern.approval(id))["status"];

describe("an edit that makes it critical", () => {
  it("asks for the tool's name when the server demands it", async () => {
    const id = await postern.ask("update_rows", rows);
    await using grace = await at(`/approvals/${id}`);
    const { page } = grace;
    await armed(page);
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog");
    const name = dialog.getByLabel(/^Type update_rows/);
    expect(await name.count()).toBe(0);
    await dialog.getByLabel("limit").fill("5000");
    const yes = dialog.getByRole("button", { name: "Approve as edited" });
    await yes.click();
    await name.waitFor();
    expect(await yes.isDisabled()).toBe(true);
    expect(await status(id)).toBe("pending");
    await name.fill("update_rows");
    await yes.click();
    await expect.poll(() => status(id)).toBe("approved");
    expect(await postern.approval(id)).toMatchObject({ risk_level: "critical", what: { arguments: { limit: 5000 } } });
  });
});

describe("a batch", () => {
  const openTogether = async (page: Page) => {
    await page.getByRole("button", { name: "Review…" }).click();
    return page.getByRole("dialog");
  };

  it("shows the risk of each request, its details on demand, and how many are not opened", async () => {
    const run = { run_id: "run-batch-lines", reason: "the nightly run" };
    const ids = await Promise.all([1, 2].map((limit) => postern.ask("update_rows", { ...rows, limit }, run)));
    await postern.ask("update_rows", { ...rows, limit: 2000 }, run); // critical: not alike
    await using grace = await at(`/approvals/${ids[0]}`);
    const dialog = await openTogether(grace.page);
    await dialog.getByText("2 previews are not open yet").waitFor();
    await dialog.getByText("high", { exact: true }).waitFor();
    expect(await dialog.getByText("1042").count()).toBe(0);
    await dialog.getByText("Preview and reasons").first().click();
    await dialog.getByText("1042").waitFor();
    await dialog.getByText("ask-update-rows").first().waitFor();
    await dialog.getByText("the nightly run").waitFor();
    await dialog.getByText("One preview is not open yet").waitFor();
    await dialog.getByText("Preview and reasons").last().click();
    await dialog.getByText("open yet").waitFor({ state: "detached" });
    expect(await problemsOfAxe(grace.page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("sends the digest of each request as it was shown", async () => {
    const run = { run_id: "run-batch-digests" };
    const ids = await Promise.all([1, 2].map((limit) => postern.ask("update_rows", { ...rows, limit }, run)));
    const shown = await Promise.all(ids.map(async (id) => [id, (await postern.approval(id))["shown_digest"]]));
    await using grace = await at(`/approvals/${ids[0]}`);
    const dialog = await openTogether(grace.page);
    const sent = grace.page.waitForRequest((request) => request.url().endsWith("/v1/approvals/batch"));
    await dialog.getByRole("button", { name: "Approve 2, each once" }).click();
    expect((await sent).postDataJSON()).toMatchObject({ expected_digests: Object.fromEntries(shown) });
    for (const id of ids) await expect.poll(() => status(id)).toBe("approved");
  });
});

describe("what the run did before", () => {
  it("shows the failed call among many successful ones, and how many more there are", async () => {
    const run = { run_id: "run-before" };
    await postern.call("flaky_fetch", {}, run);
    for (let number = 0; number < 6; number += 1) {
      await postern.call("clock_now", { number }, run);
      await postern.call("everything__echo", { message: String(number) }, run);
    }
    const id = await postern.ask("update_rows", { ...rows, table: "before" }, run);
    await using grace = await at(`/approvals/${id}`);
    await grace.page.getByRole("listitem").filter({ hasText: "flaky_fetch" }).waitFor();
    const more = grace.page.getByRole("link", { name: "and 5 more" });
    await more.click();
    await grace.page.waitForURL("**/runs/run-before");
  });
});

/** A runtime with two thousand tools, a hundred and twenty of them broken, and three hundred runs. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { everyRole, type RuntimeFixture } from "./console-fixture.ts";
import { setUp } from "./set-up.ts";

const tools = 2_000;
const broken = 120;
const runs = 300;

async function manyTools({ folder }: RuntimeFixture): Promise<void> {
  const kind = (number: number): string => (number < broken ? "broken" : "idle");
  const body = (number: number): string => (number < broken ? '{ throw new Error("out of order"); }' : '"done"');
  const lines = Array.from(
    { length: tools },
    (_, number) =>
      `export const many${number} = defineTool({ name: "${kind(number)}_${number}", description: "One of many.", risk: "safe", effects: "read", idempotent: true, inputSchema: { type: "object" }, execute: () => ${body(number)} });\n`,
  );
  appendFileSync(join(folder, "tools.ts"), lines.join(""));
}

/** In the page: to the end of a list, as far as it is known. */
function toEnd(label: string): string {
  return `document.querySelector("section[aria-label=${label}]").scrollTo(0, 1e9)`;
}

const { postern, at } = setUp({ people: { grace: everyRole }, prepare: manyTools, server: true });

beforeAll(async () => {
  for (let round = 0; round < 5; round += 1)
    await Promise.all(
      Array.from({ length: broken }, (_, number) =>
        postern.call(`broken_${number}`, { round }, { run_id: "run-broken" }),
      ),
    );
  for (let number = 0; number < runs; number += 1) await postern.call("idle_150", {}, { run_id: `run-${number}` });
}, 120_000);

describe("two thousand tools", () => {
  it("are a list that draws only the visible rows, under the heading of their server", async () => {
    await using grace = await at("/tools");
    const { page } = grace;
    const list = page.getByRole("region", { name: "Tools" });
    const heading = (name: string) => list.getByRole("heading", { name, exact: true });
    await heading("everything").waitFor();
    expect(await list.getByRole("link").count()).toBeLessThan(60);
    await page.evaluate(toEnd("Tools"));
    await expect.poll(() => heading("everything").count()).toBe(0);
    const top = async (): Promise<number> =>
      ((await heading("Own tools").boundingBox())?.y ?? 0) - ((await list.boundingBox())?.y ?? 0);
    await expect.poll(top).toBeLessThan(20);
    expect(await top()).toBeGreaterThanOrEqual(0);
    expect(await list.getByRole("link").count()).toBeLessThan(60);
    expect(await problemsOfAxe(page)).toEqual([]);
    expect(grace.problems).toEqual([]);
  });

  it("scroll to the tool in the address, and are found by name", async () => {
    await using grace = await at("/tools/idle_1500");
    const { page } = grace;
    const list = page.getByRole("region", { name: "Tools" });
    const chosen = list.getByRole("link", { name: /^idle_1500/ });
    await chosen.waitFor();
    await expect.poll(async () => (await chosen.boundingBox())?.y ?? 9_999).toBeLessThan(800);
    await page.getByLabel("Search tools").fill("idle_1777");
    await expect.poll(() => list.getByRole("link").count()).toBe(1);
  });
});

it("reads further pages of alarms, and the button of the alarms says that there are many", async () => {
  await using grace = await at("/alarms");
  const { page } = grace;
  const items = page.locator("main").getByText(/^.broken_\d+. failed 5 times in a row/);
  await expect.poll(() => items.count()).toBe(100);
  await page.getByRole("button", { name: "Alarms: more than 99 open" }).waitFor();
  await page.getByRole("button", { name: "Show more" }).click();
  await expect.poll(() => items.count()).toBe(broken);
  expect(await page.getByRole("button", { name: "Show more" }).count()).toBe(0);
});

it("reads further pages of runs by scrolling and by searching", async () => {
  await using grace = await at("/runs");
  const { page } = grace;
  const list = page.getByRole("region", { name: "Runs" });
  await list.getByText(`run-${runs - 1}`, { exact: true }).waitFor();
  await expect
    .poll(async () => {
      await page.evaluate(toEnd("Runs"));
      return list.getByText("run-broken", { exact: true }).count();
    })
    .toBe(1);
  await page.reload();
  await page.getByLabel("Search runs").fill("run-broken");
  await list.getByText("run-broken", { exact: true }).waitFor();
  expect(await list.getByRole("link").count()).toBe(1);
  await page.getByLabel("Search runs").fill("run-nowhere");
  await page.getByText("No run matches").waitFor();
  expect(grace.problems).toEqual([]);
});

/** Arguments too long for a form: their start is shown, a file has all of them, and the others can be edited. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { problemsOfAxe } from "./axe.ts";
import { approve, armed, drawn } from "./card.ts";
import { Pace } from "./pace.ts";
import { setUp } from "./set-up.ts";

const { postern, at } = setUp();

const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, field) => [`field ${field}`, field]));
const nested = Array.from({ length: 60 }, () =>
  Array.from({ length: 60 }, () => Array.from({ length: 60 }, (_, one) => one)),
);
const deep: unknown = JSON.parse(`${'{"a":'.repeat(90)}1${"}".repeat(90)}`);

const heavy = [
  ["3 MB of text", "send_email", { to: "ada@example.org", subject: "3 MB", body: "A".repeat(3_000_000) }, "body"],
  ["200,000 lines", "send_email", { to: "ada@example.org", subject: "lines", body: "x\n".repeat(200_000) }, "body"],
  ["10,000 fields", "update_rows", { table: "wide", set: wide, limit: 1 }, "set"],
  ["216,000 numbers, three deep", "update_rows", { table: "nested", set: { nested }, limit: 1 }, "set"],
  ["90 levels", "update_rows", { table: "deep", set: deep, limit: 1 }, undefined],
] as const;

describe.each(heavy)("%s", (name, tool, given, long) => {
  it("are on the card within a second, and so is each of its dialogs", async () => {
    const id = await postern.ask(tool, given);
    await using grace = await at("/approvals");
    const { page } = grace;
    const pace = new Pace(page);
    for (let round = 0; round < 5; round += 1) await pace.sample();
    const took: Record<string, number> = {};
    const measured = async (what: string, act: () => Promise<unknown>, there: Locator): Promise<void> => {
      const began = performance.now();
      await act();
      await there.waitFor();
      await drawn(page);
      took[what] = performance.now() - began;
    };
    await measured("card", () => page.goto(`/approvals/${id}`), approve(page));
    await page.locator("[data-verified=yes]").waitFor();
    await armed(page);
    const dialog = page.getByRole("dialog");
    await measured("edit", () => page.keyboard.press("e"), dialog.getByRole("tab", { name: "Form" }));
    await measured(
      "json",
      () => dialog.getByRole("tab", { name: "JSON" }).click(),
      dialog.getByText(/characters|JSON/).last(),
    );
    await dialog.getByRole("tab", { name: "Form" }).click();
    const small = dialog.getByLabel(tool === "send_email" ? "subject" : "table");
    await measured("typing", () => small.pressSequentially("!!"), dialog.getByText("changed", { exact: true }));
    await measured(
      "changes",
      () => dialog.getByRole("tab", { name: "Changes" }).click(),
      dialog.getByText(/!!/).last(),
    );
    await page.keyboard.press("Escape");
    await measured(
      "remember",
      () => page.getByRole("button", { name: "Remember…" }).click(),
      dialog.getByText("How long?"),
    );
    await page.keyboard.press("Escape");
    await measured("bytes", () => page.getByRole("tab", { name: "Exact bytes" }).click(), page.getByText("RFC 8785"));
    const told = Object.entries(took).map(([what, ms]) => `${what} ${ms.toFixed(0)}`);
    console.log(`${name}: ${told.join(", ")} ms; a round trip ${pace.p95Ms.toFixed(0)} ms`);
    for (const [what, ms] of Object.entries(took)) expect(ms, what).toBeLessThan(pace.bar(1_000));
    if (long !== undefined) await hasWhole(page, long, given);
    expect(grace.problems).toEqual([]);
    await postern.operator("POST", `/v1/approvals/${id}/withdraw`, {});
  });
});

it("a long argument stays the same when a short one beside it is edited", async () => {
  const given = { to: "ada@example.org", subject: "wrong", body: "B".repeat(200_000) };
  const id = await postern.ask("send_email", given);
  await using grace = await at(`/approvals/${id}`);
  const { page } = grace;
  await page.getByRole("button", { name: "Edit…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("subject").fill("right");
  expect(await problemsOfAxe(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Approve as edited" }).click();
  await expect.poll(async () => (await postern.approval(id))["status"]).toBe("approved");
  expect((await postern.approval(id))["what"]).toMatchObject({ arguments: { ...given, subject: "right" } });
});

/** Shortened on the page, whole in the files. */
async function hasWhole(page: Page, long: string, given: Readonly<Record<string, unknown>>): Promise<void> {
  await page.getByRole("button", { name: "Edit…" }).click();
  const dialog = page.getByRole("dialog");
  const start = dialog.getByRole("region", { name: long });
  expect((await start.textContent())?.length).toBeLessThan(5_000);
  const value = given[long];
  const file = await saved(page, dialog.getByRole("button", { name: "Download all of it" }));
  expect(typeof value === "string" ? file : JSON.parse(file)).toEqual(value);
  await page.keyboard.press("Escape");
  const bytes = await saved(page, page.getByRole("button", { name: "Download the exact arguments" }));
  expect(JSON.parse(bytes)).toEqual(given);
}

async function saved(page: Page, button: Locator): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  return readFileSync(await file.path(), "utf8");
}

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { endEvents } from "../../packages/core/src/event.ts";
import { stageOf } from "../../packages/postern/src/audit/audit-words.ts";
import {
  chainLimits,
  createRuntime,
  directLimits,
  type RefusalCode,
  refusals,
} from "../../packages/postern/src/index.ts";

const page = readFileSync(new URL("../../docs/reference/calls.md", import.meta.url), "utf8");
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

it("the page about calls lists every refusal correctly", () => {
  const listed = rows.filter((cells) => cells.length === 6 && cells[0] !== "code" && !cells[0]?.startsWith("-"));
  const codes = Object.keys(refusals) as RefusalCode[]; // the keys of that table
  expect(listed).toEqual(
    codes.map((code) => {
      const { status, http, retry, message } = refusals[code];
      return [`\`${code}\``, stageOf("refused", code), status, String(http), retry, message];
    }),
  );
});

it("the page about calls names every event that ends an arrival", () => {
  for (const { audit } of Object.values(endEvents)) expect(page).toContain(`\`${audit}\``);
});

it("the page about calls states the limits in force", async () => {
  for (const name of [
    "maxToolCalls",
    "callTimeoutMs",
    "approvalWaitMs",
    "totalTimeoutMs",
    "maxInlineResultBytes",
  ] as const) {
    const row = rows.find(([first]) => first === `\`${name}\``);
    expect(row?.slice(1).map((cell) => Number(cell.replaceAll(",", "")))).toEqual([
      directLimits[name],
      chainLimits[name],
    ]);
  }
  await using runtime = await createRuntime();
  const { maxToolCalls } = runtime.openSession().limits;
  expect(maxToolCalls).toBe(directLimits.maxToolCalls);
});

import { expect, it } from "vitest";
import { createRedactor } from "../../secrets/redactor.ts";
import type { Action } from "../../tools/tool.ts";
import { suggestionOf } from "./verdict.ts";

const redactor = createRedactor();
const asked = (said: ReturnType<NonNullable<Action["classifyRisk"]>>) =>
  suggestionOf({ classifyRisk: () => said }, {}, redactor);

it("cuts a risk check's summary, never within a character", () => {
  const said = asked({
    risk: "high",
    summary: `${"x".repeat(1_998)}💥${"y".repeat(5_000)}`,
    target: "a\ud800",
    recipients: ["b\udc00", 7 as never],
  });
  expect(said?.summary).toBe(`${"x".repeat(1_998)}…`);
  expect(said).toMatchObject({ risk: "high", target: "a\ufffd", recipients: ["b\ufffd", 7] });
});

it("a risk check whose answer is too long makes the call no safer", () => {
  const tooMuch = { risk: "critical", summary: "The result of the tool's own risk check is too large." };
  expect(asked({ risk: "safe", summary: "x".repeat(3_000_000) })).toEqual(tooMuch);
  expect(asked({ risk: "safe", recipients: Array.from({ length: 100_000 }, (_, at) => `${at}@example.com`) })).toEqual(
    tooMuch,
  );
});

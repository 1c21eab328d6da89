import { expect, it } from "vitest";
import { type PastCall, pastOf } from "../../console/src/screens/approvals/past-calls.ts";

let count = 0;
const call = (tool: string, state: PastCall["state"] = "ok", risk_level: PastCall["risk_level"] = "safe"): PastCall => {
  count += 1;
  return { call_id: String(count), tool, action: "default", state, risk_level, arrived_at: "2026-11-20T00:00:00Z" };
};
const safe = (most: number): PastCall[] => Array.from({ length: most }, (_, i) => call(i % 2 === 0 ? "read" : "list"));

it("shows failed and risky calls beside a request, after any number of safe ones", () => {
  const bad = [call("send", "failed", "medium"), call("drop", "ok", "critical"), call("pay", "denied", "high")];
  const { shown, more } = pastOf([...safe(30), ...bad, ...safe(10)]);
  expect(shown).toHaveLength(8);
  expect(shown.map(({ tool }) => tool)).toEqual(["read", "list", "read", "list", "read", "send", "drop", "pay"]);
  expect(more).toBe(35);
});

it("shows a failed safe call before any successful one", () => {
  const { shown } = pastOf([
    ...Array.from({ length: 9 }, (_, i) => call(`t${i}`, "ok", "critical")),
    call("bad", "failed"),
  ]);
  expect(shown.map(({ tool }) => tool)).toContain("bad");
});

it("shows a repeated call as one line unless its end or its risk differs", () => {
  const { shown, more } = pastOf([
    call("read"),
    call("read"),
    call("read", "failed"),
    call("read", "failed", "high"),
    call("x", "held"),
  ]);
  expect(shown.map(({ tool, state, times }) => [tool, state, times])).toEqual([
    ["read", "ok", 2],
    ["read", "failed", 1],
    ["read", "failed", 1],
  ]);
  expect(more).toBe(0);
});

it("counts every call that is not shown, repeated ones too", () => {
  const calls = Array.from({ length: 12 }, (_, i) => [call(`t${i}`), call(`t${i}`)]).flat();
  expect(pastOf(calls).more).toBe(8);
});

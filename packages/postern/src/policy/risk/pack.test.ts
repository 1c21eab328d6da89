import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Decision, Facts, PastCall } from "../policy.ts";

const noon = Date.UTC(2026, 10, 20, 12);
const night = Date.UTC(2026, 10, 20, 23);
const light = tool("light", { action: "toggle", risk: "medium" });
const plain = factsOf(light, { suggestion: { target: "kitchen" }, now: noon });
const before = (changes: Partial<PastCall> = {}): PastCall => ({
  tool: "light",
  action: "toggle",
  effects: "write",
  risk: "medium",
  at: noon - 5_000,
  state: "ok",
  target: "kitchen",
  arguments: {},
  ...changes,
});
const seen = (...calls: readonly PastCall[]): Facts["history"] => {
  const history = { version: 1, tainted: false, calls };
  return { principal: history, tenant: history };
};
const decide = (pack: PolicyOptions["pack"], facts: Partial<Facts> = {}, more: PolicyOptions = {}): Decision =>
  createPolicy({ ...(pack !== undefined && { pack }), ...more }).decide({ ...plain, ...facts });

describe("quiet hours", () => {
  const pack: PolicyOptions["pack"] = { quietHours: { from: "22:00", to: "07:00", timeZone: "UTC" } };

  it("a medium call at A4 asks in quiet hours, a low read runs (case 132)", () => {
    expect(decide(pack, { now: night })).toMatchObject({ verdict: "CONFIRM", risk: "high" });
    expect(decide(pack, { now: night, tool: { ...light, effects: "read", risk: "safe" } })).toMatchObject({
      verdict: "ALLOW",
      risk: "safe",
    });
    expect(decide(pack)).toMatchObject({ verdict: "ALLOW", risk: "medium" });
    expect(decide(undefined, { now: night }).verdict).toBe("ALLOW");
  });

  it("decides whether to ask before quiet hours raise the risk", () => {
    const low = { now: night, tool: { ...light, risk: "safe" as const } };
    expect(decide(pack, low)).toMatchObject({ verdict: "ALLOW", risk: "medium" });
    expect(decide(pack, { ...low, autonomy: "A2" }).verdict).toBe("CONFIRM");
  });

  it("does not use the cached decision of the day at night", () => {
    const policy = createPolicy({ pack });
    const at = (now: number) => policy.decide({ ...plain, now }).verdict;
    expect([at(noon), at(night), at(noon), at(night + 60_000)]).toEqual(["ALLOW", "CONFIRM", "ALLOW", "CONFIRM"]);
  });
});

describe("anti-flap", () => {
  const pack: PolicyOptions["pack"] = { antiFlap: { cooldownSeconds: 60 } };

  it.each<[string, Partial<PastCall>, Partial<Facts>, Decision["verdict"]]>([
    ["the same target", {}, {}, "BLOCK"],
    ["another target", { target: "hall" }, {}, "ALLOW"],
    ["another action", { action: "dim" }, {}, "ALLOW"],
    ["another tool", { tool: "lamp" }, {}, "ALLOW"],
    ["after the cooldown", { at: noon - 60_000 }, {}, "ALLOW"],
    ["just inside it", { at: noon - 59_999 }, {}, "BLOCK"],
    ["one that failed", { state: "failed" }, {}, "ALLOW"],
    ["one that runs now", { state: "attempted" }, {}, "BLOCK"],
    ["one that may have happened", { state: "unknown" }, {}, "BLOCK"],
    ["what only reads", { effects: "read" }, { tool: { ...light, effects: "read" } }, "ALLOW"],
  ])("%s", (_, past, facts, verdict) =>
    expect(decide(pack, { ...facts, history: seen(before(past)) }).verdict).toBe(verdict),
  );

  it("compares arguments when a call has no target", () => {
    const { target: _, ...past } = before({ arguments: { room: "hall", on: true } });
    const asked = (args: Facts["arguments"]) =>
      decide(pack, { suggestion: undefined, arguments: args, history: seen(past) }).verdict;
    expect(asked({ on: true, room: "hall" })).toBe("BLOCK");
    expect(asked({ on: false, room: "hall" })).toBe("ALLOW");
  });

  it("a past that cannot be seen blocks, and tools can be named", () => {
    expect(decide(pack)).toMatchObject({ verdict: "BLOCK", blockedBy: "antiflap" });
    expect(decide({ antiFlap: { cooldownSeconds: 60, tools: ["door*"] } }).verdict).toBe("ALLOW");
  });

  it("names the pack only if nothing else blocks", () => {
    const critical = { ...light, risk: "critical" as const };
    const decision = decide(pack, { tool: critical, autonomy: "A2", history: seen(before()) });
    expect(decision.verdict).toBe("BLOCK");
    expect(decision.blockedBy).toBeUndefined();
  });

  it("in mode observe nothing is blocked by it", () => {
    expect(decide(pack, { history: seen(before()) }, { mode: "observe" })).toMatchObject({
      verdict: "ALLOW",
      observed: "BLOCK",
    });
  });
});

describe("what the policy reads", () => {
  it("names scope and window, and only for the tools that are watched", () => {
    const policy = createPolicy({
      pack: { antiFlap: { cooldownSeconds: 60 }, notifications: { tools: ["mail*"], maxPerHour: 1 } },
      taint: "raise",
    });
    expect(policy.reads).toEqual({ run: Number.POSITIVE_INFINITY, principal: 60_000, tenant: 3_600_000 });
    expect(policy.readsFor?.(light)).toEqual({ principal: 60_000 });
    expect(policy.readsFor?.({ ...light, tool: "mail", effects: "read" })).toEqual({ tenant: 3_600_000 });
    expect(policy.readsFor?.({ ...light, effects: "read", openWorld: true })).toEqual({
      run: Number.POSITIVE_INFINITY,
    });
    expect(policy.readsFor?.({ ...light, effects: "read" })).toBeUndefined();
    expect(createPolicy().reads).toBeUndefined();
  });
});

it("the report of what holds is that of an ordinary day with nothing done", () => {
  const policy = createPolicy({
    pack: { quietHours: { from: "00:00", to: "23:59", timeZone: "UTC" }, antiFlap: { cooldownSeconds: 1 } },
    taint: "raise",
  });
  const report = policy.effective?.([{ ...light, openWorld: true }], { principal: plain.principal, autonomy: "A4" });
  expect(report?.lines[0]).toMatchObject({
    verdict: "ALLOW",
    risk: "medium",
    depends: [
      { rule: "pack: anti-flap, 1 s", effect: "BLOCK" },
      { rule: "pack: quiet hours (00:00 to 23:59, UTC)", effect: "CONFIRM" },
      { rule: "taint", effect: "RAISE" },
    ],
  });
});

it.each<[PolicyOptions["pack"], RegExp]>([
  [{ antiFlap: { cooldownSeconds: 0 } }, /cooldownSeconds`: `0` is too small/],
  [{ antiFlap: { cooldownSeconds: 1, tools: [] } }, /tools`: It is empty/],
  [{ notifications: { tools: ["x"], maxPerHour: 1.5 } }, /maxPerHour`: `1.5` is not a whole number/],
  [{ notifications: { tools: ["x"], maxPerHour: 1, within: "run" as never } }, /within`: `"run"`/],
  [{ quietHours: { from: "22", to: "07:00", timeZone: "UTC" } }, /quietHours.from`: `"22"`/],
  [{ quietHours: { from: "07:00", to: "07:00", timeZone: "UTC" } }, /begin and end at `07:00`/],
  [{ quietHours: { from: "22:00", to: "07:00", timeZone: "Mars/Olympus" } }, /`Mars\/Olympus`; write a name/],
  [{ night: true } as never, /`pack.night`/],
])("a mistake in %j is named", (pack, message) => expect(() => createPolicy({ pack: pack ?? {} })).toThrow(message));

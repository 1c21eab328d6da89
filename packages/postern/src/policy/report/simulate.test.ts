import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { ToolFacts } from "../policy.ts";
import { type RecordedCall, replay, type VerdictChange } from "./simulate.ts";

const mail: ToolFacts = {
  ...{ tool: "mail", action: "default", risk: "safe", riskSource: "declared", effects: "write" },
  ...{ scopes: [], permissions: [] },
};
const read: ToolFacts = { ...mail, tool: "read", effects: "read" };

/** One that ended well a millisecond later. */
function call(
  at: number,
  more: Partial<RecordedCall> & { readonly tool?: ToolFacts; readonly agent?: string } = {},
): RecordedCall {
  const { tool = mail, agent = "ann", ...rest } = more;
  return {
    id: `call_${at}`,
    isEdited: false,
    runId: "run_1",
    countedIn: more.runId ?? "run_1",
    risk: "safe",
    isPast: false,
    facts: {
      tool,
      principal: { tenant: "default", agent },
      scopes: [],
      autonomy: "A2",
      maxRiskUnapproved: undefined,
      suggestion: undefined,
      arguments: { to: "a" },
      now: at,
    },
    ended: { state: "ok", at: at + 1, isFromOutside: false },
    ...rest,
  };
}

function simulate(...given: Parameters<typeof replay>): readonly VerdictChange[] {
  return [...replay(...given)].filter((change) => change !== undefined);
}

function changed(calls: readonly RecordedCall[], before: PolicyOptions, after: PolicyOptions): readonly string[] {
  return simulate(calls, { before: createPolicy(before), after: createPolicy(after) }).map(
    ({ callId, before: was, after: is }) => `${callId} ${was.verdict} ${is.verdict}`,
  );
}

const atMost = (most: number, within: "run" | "principal" | "tenant", windowSeconds = 60): PolicyOptions => ({
  rules: [{ effect: "deny", tool: "mail", history: { within, windowSeconds, atMost: most } }],
});

describe("what another policy would have answered", () => {
  it("lists the calls whose verdict changes, with both decisions and their reasons", () => {
    const [change, ...more] = simulate([call(1), call(2, { tool: read })], {
      before: createPolicy(),
      after: createPolicy({ rules: [{ effect: "deny", tool: "mail", id: "no-mail", where: "p.yaml:3" }] }),
    });
    expect(more).toEqual([]);
    expect(change).toMatchObject({ callId: "call_1", tool: "mail", runId: "run_1", at: 1, arguments: { to: "a" } });
    expect(change?.before).toMatchObject({
      verdict: "ALLOW",
      reasons: expect.arrayContaining([{ rule: "default: allow", effect: "ALLOW" }]),
    });
    expect(change?.after.reasons).toEqual([{ rule: "rule deny #1 (no-mail)", effect: "DENY", where: "p.yaml:3" }]);
  });

  it("a call that is refused there is no past there: a limit lets the next window's first ones through", () => {
    const calls = [1, 2, 3, 4].map((second) => call(second * 1000)).concat(call(62_500), call(63_000));
    expect(changed(calls, {}, atMost(2, "run"))).toEqual(["call_3000 ALLOW DENY", "call_4000 ALLOW DENY"]);
  });

  it("counts by run, by principal and by tenant", () => {
    const calls = [call(1), call(2, { agent: "bob" }), call(3, { runId: "run_2" })];
    expect(changed(calls, {}, atMost(1, "run"))).toEqual(["call_2 ALLOW DENY"]);
    expect(changed(calls, {}, atMost(1, "principal"))).toEqual(["call_3 ALLOW DENY"]);
    expect(changed(calls, {}, atMost(1, "tenant"))).toEqual(["call_2 ALLOW DENY", "call_3 ALLOW DENY"]);
  });

  it("what lies before the replayed calls is past as it was, and is not listed", () => {
    expect(changed([call(1, { isPast: true }), call(2)], {}, atMost(1, "run"))).toEqual(["call_2 ALLOW DENY"]);
  });

  it("ignores calls that never started", () => {
    expect(changed([call(1, { ended: undefined }), call(2)], {}, atMost(1, "run"))).toEqual([]);
  });

  it("an earlier call counts as ended only once it has: read before write, in the same moment", () => {
    const after: PolicyOptions = {
      rules: [{ effect: "deny", tool: "mail", history: { within: "run", requires: { tool: "read" } } }],
    };
    const reading = call(1, { tool: read, ended: { state: "ok", at: 10, isFromOutside: false } });
    expect(changed([reading, call(5)], {}, after)).toEqual(["call_5 ALLOW DENY"]);
    expect(changed([reading, call(10)], {}, after)).toEqual([]);
  });

  it("a result from outside raises what follows in its run, from the moment it was there", () => {
    const web: ToolFacts = { ...read, tool: "web", openWorld: true };
    const looked = call(1, { tool: web, ended: { state: "ok", at: 5, isFromOutside: true } });
    const next = (at: number, runId = "run_1") => call(at, { tool: web, runId });
    expect(changed([looked, next(4), next(6), next(7, "run_2")], {}, { taint: "raise" })).toEqual([
      "call_6 ALLOW CONFIRM",
    ]);
  });

  it("compares the observed verdicts if both policies observe", () => {
    const rule = { effect: "deny", tool: "mail" } as const;
    expect(changed([call(1)], { mode: "observe" }, { mode: "observe", rules: [rule] })).toEqual(["call_1 ALLOW ALLOW"]);
    expect(changed([call(1)], { rules: [rule] }, { mode: "observe", rules: [rule] })).toEqual(["call_1 DENY ALLOW"]);
  });

  it("the same policy changes nothing, whatever was called", async () => {
    const arbitrary = fc.record({
      at: fc.integer({ min: 0, max: 200 }),
      agent: fc.constantFrom("ann", "bob"),
      runId: fc.constantFrom("run_1", "run_2"),
      isPast: fc.boolean(),
      tool: fc.constantFrom(mail, read),
    });
    await fc.assert(
      fc.property(fc.array(arbitrary, { maxLength: 30 }), fc.integer({ min: 0, max: 4 }), (given, most) => {
        const calls = given.map(({ at, ...more }) => call(at, more)).toSorted((a, b) => a.facts.now - b.facts.now);
        expect(changed(calls, atMost(most, "tenant", 0.05), atMost(most, "tenant", 0.05))).toEqual([]);
      }),
    );
  });
});

import { describe, expect, it } from "vitest";
import { tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import { checkExpectations, type Expectation, type ExpectationTerms } from "./expectations.ts";

const pay = tool("pay", { risk: "medium", scopes: ["money:spend"] });
const terms: ExpectationTerms = {
  tools: (tool, action) =>
    tool === "pay" && action === "default"
      ? { facts: pay, suggest: ({ amount }) => (Number(amount) > 1000 ? { risk: "high" } : undefined) }
      : undefined,
  names: ["pay"],
  autonomy: "A3",
};

function check(policy: PolicyOptions, more: Partial<Expectation> = {}) {
  const one: Expectation = { name: "it", call: { tool: "pay", arguments: { amount: 1 } }, expect: "ALLOW", ...more };
  const [result] = checkExpectations([one], createPolicy(policy), terms);
  return result;
}

describe("expectations of a policy", () => {
  it("passes on the expected verdict; else shows both and the decision", () => {
    expect(check({})).toMatchObject({ name: "it", passed: true, expected: "ALLOW" });
    const failed = check({ default: "deny" }, { where: "p.yaml:7" });
    expect(failed).toMatchObject({ passed: false, problem: "The verdict is DENY, not ALLOW.", where: "p.yaml:7" });
    expect(failed?.decision?.reasons).toEqual([{ rule: "default: deny", effect: "DENY" }]);
  });

  it("a named rule must have taken part", () => {
    const policy: PolicyOptions = { rules: [{ effect: "deny", tool: "pay", id: "broke" }] };
    expect(check(policy, { expect: "DENY", rule: "broke" })).toMatchObject({ passed: true });
    expect(check(policy, { expect: "DENY", rule: "rich" })).toMatchObject({
      passed: false,
      problem: "The verdict is DENY, but no rule with `rich` in its name took part.",
    });
  });

  it("asks at its own level, at its own scopes, as its own principal", () => {
    expect(check({}, { autonomy: "A0", expect: "PREVIEW" })).toMatchObject({ passed: true });
    expect(check({}, { scopes: [], expect: "DENY", rule: "scope money:spend missing" })).toMatchObject({
      passed: true,
    });
    const policy: PolicyOptions = { rules: [{ effect: "deny", principal: { user: "eve" } }] };
    expect(check(policy, { principal: { user: "eve" }, expect: "DENY" })).toMatchObject({ passed: true });
    expect(check(policy)).toMatchObject({ passed: true });
  });

  it("the tool itself is asked about the arguments", () => {
    const call = { tool: "pay", arguments: { amount: 5000 } };
    expect(check({}, { call, expect: "CONFIRM", rule: "risk high of this call" })).toMatchObject({ passed: true });
  });

  it("a past lies as long ago as it says", () => {
    const policy: PolicyOptions = {
      rules: [
        {
          effect: "deny",
          tool: "pay",
          history: { within: "run", windowSeconds: 60, sum: { path: "$.amount", atMost: 10 } },
        },
      ],
    };
    const history = [{ tool: "pay", arguments: { amount: 10 }, secondsAgo: 59 }];
    expect(check(policy, { history, expect: "DENY" })).toMatchObject({ passed: true });
    expect(check(policy, { history: [{ ...history[0], tool: "pay", secondsAgo: 61 }] })).toMatchObject({
      passed: true,
    });
  });

  it("its time is noon of a Monday, UTC, unless it says when", () => {
    const policy: PolicyOptions = { pack: { quietHours: { from: "22:00", to: "07:00", timeZone: "UTC" } } };
    expect(check(policy)).toMatchObject({ passed: true });
    expect(check(policy, { now: Date.UTC(2026, 0, 5, 23), expect: "CONFIRM" })).toMatchObject({ passed: true });
  });

  it("fails on an unknown tool and suggests a near name", () => {
    expect(check({}, { call: { tool: "pya" } })).toMatchObject({
      passed: false,
      problem: "There is no tool `pya`; did you mean `pay`?",
    });
    expect(check({}, { call: { tool: "pay", action: "refund" } })?.problem).toBe(
      "There is no tool `pay` with the action `refund`.",
    );
    expect(check({}, { history: [{ tool: "constructor" }] })?.problem).toBe("There is no tool `constructor`.");
  });
});

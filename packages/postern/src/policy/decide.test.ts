import type { Autonomy, Risk } from "@postern/core";
import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "./decide.ts";
import type { Facts, Suggestion, ToolFacts } from "./policy.ts";
import type { Rule } from "./rules/rule-schema.ts";

const plain = tool("mail", { action: "send" });

function facts(of: Partial<ToolFacts> = {}, more: Partial<Facts> = {}): Facts {
  return factsOf({ ...plain, ...of }, more);
}

describe("scopes", () => {
  it("a missing scope is a denial that names it (case 143)", () => {
    const decision = createPolicy().decide(facts({ scopes: ["mail:read", "mail:write"] }, { scopes: ["mail:read"] }));
    expect(decision).toMatchObject({
      verdict: "DENY",
      missingScope: "mail:write",
      reasons: expect.arrayContaining([{ rule: "scope mail:write missing", effect: "DENY" }]),
    });
  });

  it("passes with more than needed, and when none is needed (case 144)", () => {
    expect(createPolicy().decide(facts({ scopes: ["mail:read"] }, { scopes: ["a", "mail:read", "b"] })).verdict).toBe(
      "ALLOW",
    );
    expect(createPolicy().decide(facts()).verdict).toBe("ALLOW");
  });

  it("are not spoken of to those who lack the permission itself", () => {
    const decision = createPolicy({ rules: [{ effect: "deny" }] }).decide(facts({ scopes: ["mail:write"] }));
    expect(decision.verdict).toBe("DENY");
    expect(decision).not.toHaveProperty("missingScope");
  });

  it("to secrets ask a person even at A4 with safe risk (case 130)", () => {
    const decision = createPolicy().decide(facts({ scopes: ["secrets:read"] }, { scopes: ["secrets:read"] }));
    expect(decision).toMatchObject({
      verdict: "CONFIRM",
      reasons: expect.arrayContaining([{ rule: "override secrets scope `secrets:read`", effect: "CONFIRM" }]),
    });
  });

  it("to secrets only preview at A0", () => {
    const granted = ["secrets:read"];
    const decision = createPolicy().decide(facts({ scopes: granted }, { scopes: granted, autonomy: "A0" }));
    expect(decision.verdict).toBe("PREVIEW");
    expect(decision.reasons).toContainEqual({ rule: "override secrets scope `secrets:read`", effect: "PREVIEW" });
  });
});

describe("the risk of one call", () => {
  const decided = (tool: Partial<ToolFacts>, suggestion: Suggestion): { risk: Risk; verdict: string } =>
    createPolicy().decide(facts(tool, { suggestion, autonomy: "A3" }));

  it("is the action's own where the tool suggests nothing (case 127)", () => {
    expect(createPolicy().decide(facts({ risk: "high" }, { autonomy: "A3" }))).toMatchObject({
      risk: "high",
      verdict: "CONFIRM",
    });
  });

  it("is raised by what the tool says of it, and the reason tells", () => {
    expect(decided({}, { risk: "critical", summary: "to everybody" })).toMatchObject({
      risk: "critical",
      verdict: "BLOCK",
      reasons: expect.arrayContaining([
        { rule: "risk critical of this call, says the tool (its own: safe)", effect: "RAISE" },
      ]),
    });
  });

  it("is lowered only where the tool's author labelled it himself", () => {
    expect(decided({ risk: "high", riskSource: "declared" }, { risk: "safe" })).toMatchObject({
      risk: "safe",
      verdict: "ALLOW",
    });
    for (const riskSource of ["operator", "default"] as const) {
      expect(decided({ risk: "high", riskSource }, { risk: "safe" })).toMatchObject({
        risk: "high",
        verdict: "CONFIRM",
      });
    }
  });

  it("blocks an unknown risk, and low", () => {
    expect(decided({ risk: "high" }, { risk: "low" as Risk }).verdict).toBe("BLOCK");
    expect(decided({}, { risk: "none" as Risk })).toMatchObject({
      verdict: "BLOCK",
      risk: "critical",
    });
  });
});

describe("a policy", () => {
  it("runs an allowed call without a person (case 137) and blocks without a way to approve (case 136)", () => {
    expect(createPolicy().decide(facts({}, { autonomy: "A2" })).verdict).toBe("ALLOW");
    expect(createPolicy().decide(facts({ risk: "critical" }, { autonomy: "A2" })).verdict).toBe("BLOCK");
  });

  it("gives equal frozen decisions for equal questions", () => {
    const policy = createPolicy({ rules: [{ effect: "deny", principal: { user: "eve" } }] });
    const asked = facts();
    const decision = policy.decide(asked);
    expect(
      policy.decide({
        ...asked,
        scopes: ["more"],
        arguments: { to: "ada" },
        principal: { ...asked.principal },
      }),
    ).toEqual(decision);
    expect(Object.isFrozen(decision) && Object.isFrozen(decision.reasons) && Object.isFrozen(decision.reasons[0])).toBe(
      true,
    );
    expect(policy.decide({ ...asked, autonomy: "A1" })).not.toBe(decision);
  });

  it("notices facts and principals that changed under it", () => {
    const policy = createPolicy({
      rules: [{ effect: "deny", tool: "mail", principal: { user: "eve" } }],
    });
    const tool = { ...plain, scopes: ["a"] };
    const principal = { tenant: "default", agent: "agent", user: "ada" };
    const asked = { ...facts(), tool, principal, scopes: ["a"] };
    expect(policy.decide(asked).verdict).toBe("ALLOW");
    principal.user = "eve";
    expect(policy.decide(asked).verdict).toBe("DENY");
    principal.user = "ada";
    tool.scopes[0] = "b";
    expect(policy.decide(asked).missingScope).toBe("b");
    tool.scopes[0] = "a";
    principal.user = "eve";
    expect(policy.decide(asked).verdict).toBe("DENY");
    Object.assign(tool, { tool: "post", risk: "critical" });
    expect(policy.decide(asked).verdict).toBe("CONFIRM");
  });

  it("offers what its rules permit this principal, whatever the call would be", () => {
    const policy = createPolicy({
      rules: [{ effect: "deny", tool: "mail", principal: { agent: "intern" } }],
    });
    const principal = { tenant: "default", agent: "agent" };
    expect(policy.offers(principal, { ...plain, risk: "critical" })).toBe(true);
    expect(policy.offers({ ...principal, agent: "intern" }, plain)).toBe(false);
    expect(policy.offers(principal, { ...plain, effects: "destructive" })).toBe(false);
    expect(policy.offers(principal, null as unknown as ToolFacts)).toBe(false);
  });

  it("denies when anything inside it fails, and says so", () => {
    for (const broken of [
      {},
      { tool: plain },
      { ...facts(), scopes: undefined, tool: { ...plain, scopes: ["a"] } },
      null,
    ]) {
      const decision = createPolicy().decide(broken as unknown as Facts);
      expect(decision).toMatchObject({
        verdict: "DENY",
        reasons: [{ rule: expect.stringMatching(/^policy error/), effect: "DENY" }],
      });
    }
  });

  it("keeps its version when only places of rules or written-out defaults differ", () => {
    const rules: Rule[] = [{ effect: "deny", tool: "mail" }];
    const { version } = createPolicy({ rules });
    expect(version).toMatch(/^[0-9a-f]{16}$/);
    expect(
      createPolicy({
        rules: [{ effect: "deny", tool: "mail", where: "postern.yaml:3" }],
        default: "allow",
        matrix: { A2: { safe: "ALLOW" } },
      }).version,
    ).toBe(version);
    for (const other of [
      {},
      { rules, default: "deny" },
      { rules, maxRiskUnapproved: "high" },
      { rules, matrix: { A2: { safe: "CONFIRM" } } },
    ] satisfies PolicyOptions[]) {
      expect(createPolicy(other).version).not.toBe(version);
    }
    expect(createPolicy({ rules }).decide(facts()).policyVersion).toBe(version);
  });

  it("does not change when its options are changed later", () => {
    const rules: { effect: "allow" | "deny" }[] = [{ effect: "allow" }];
    const policy = createPolicy({ rules });
    rules[0] = { effect: "deny" };
    expect(policy.decide(facts()).verdict).toBe("ALLOW");
  });

  it.each([
    [{ default: "maybe" }, '`"maybe"`'],
    [{ rule: [] }, "`rule`"],
  ])("refuses the options %j and names what is wrong", (options, named) => {
    expect(() => createPolicy(options as PolicyOptions)).toThrow(
      expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(named) }),
    );
  });
});

describe("levels", () => {
  it("uses a lowered autonomy level from the next call on (case 141)", () => {
    const policy = createPolicy();
    const at = (autonomy: Autonomy): string => policy.decide(facts({ risk: "medium" }, { autonomy })).verdict;
    expect([at("A3"), at("A2"), at("A0")]).toEqual(["ALLOW", "CONFIRM", "PREVIEW"]);
  });
});

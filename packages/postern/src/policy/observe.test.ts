import { describe, expect, it } from "vitest";
import { decide, decideFacts, principal, tool } from "../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "./decide.ts";
import type { Decision, Facts, ToolFacts } from "./policy.ts";

describe("a layer from outside", () => {
  const saying = (effect: "DENY" | "CONFIRM" | "RAISE"): PolicyOptions => ({
    also: [{ name: "house", version: "1", weigh: () => [{ guardrail: "house", effect, why: "because" }] }],
  });

  it("denies, asks and raises, and is named", () => {
    expect(decide(saying("DENY"), tool("mail"))).toMatchObject({
      verdict: "DENY",
      reasons: [{ rule: "house: because", effect: "DENY" }],
    });
    expect(decide(saying("CONFIRM"), tool("mail")).verdict).toBe("CONFIRM");
    expect(decide(saying("RAISE"), tool("mail"))).toMatchObject({ risk: "medium", verdict: "CONFIRM" });
    expect(decide(saying("RAISE"), tool("mail", { risk: "critical" }), { autonomy: "A4" }).risk).toBe("critical");
  });

  it("is asked about every call, and counts in the version", () => {
    let asked = 0;
    const layer = {
      name: "house",
      version: "1",
      weigh: () => (asked++ > 0 ? [{ guardrail: "h", effect: "DENY", why: "twice" } as const] : []),
    };
    const policy = createPolicy({ also: [layer] });
    const facts: Facts = { ...decideFacts(), tool: tool("mail") };
    expect([policy.decide(facts).verdict, policy.decide(facts).verdict]).toEqual(["ALLOW", "DENY"]);
    expect(createPolicy({ also: [{ ...layer, version: "2" }] }).version).not.toBe(policy.version);
    expect(() => createPolicy({ also: [{ name: "x" } as never] })).toThrow(/`also`/);
  });
});

describe("mode observe", () => {
  const observe = (options: PolicyOptions, facts: ToolFacts, more: Partial<Facts> = {}): Decision =>
    decide({ ...options, mode: "observe" }, facts, more);

  it("says what enforcing would have answered, and lets the call pass", () => {
    const decision = observe({ rules: [{ effect: "deny", tool: "mail", id: "no" }] }, tool("mail"));
    expect(decision).toMatchObject({ verdict: "ALLOW", observed: "DENY" });
    expect(decision.reasons.map(({ rule }) => rule)).toEqual(
      expect.arrayContaining(["rule deny #1 (no)", "mode observe: enforce would give DENY"]),
    );
    expect(observe({}, tool("mail", { risk: "high" }), { autonomy: "A1" })).toMatchObject({
      verdict: "ALLOW",
      observed: "CONFIRM",
    });
    expect(observe({ default: "deny" }, tool("mail"))).toMatchObject({ verdict: "ALLOW", observed: "DENY" });
    expect(decide({ mode: "enforce" }, tool("mail"))).not.toHaveProperty("observed");
  });

  it("enforces what always holds", () => {
    const enforced: readonly (readonly [Decision, Decision["verdict"]])[] = [
      [observe({}, tool("mail", { scopes: ["mail:write"] }), { scopes: [] }), "DENY"],
      [observe({ runtime: [{ effect: "deny" }] }, tool("mail")), "DENY"],
      [
        observe({ sandbox: [{ argument: "$.path", within: ["/w/**"] }] }, tool("w"), { arguments: { path: "/etc" } }),
        "DENY",
      ],
      [observe({}, tool("drop", { effects: "destructive" })), "DENY"],
      [observe({}, tool("run", { permissions: ["shell"] })), "DENY"],
      [observe({}, tool("mail"), { skills: { names: ["x"], allowedTools: [] } }), "DENY"],
      [observe({}, {} as ToolFacts, { scopes: [] }), "DENY"],
      [observe({}, tool("mail"), { autonomy: "A0" }), "PREVIEW"],
      [observe({}, tool("mail"), { autonomy: "A9" as "A4" }), "BLOCK"],
      [observe({}, tool("mail", { scopes: ["secrets:read"] })), "CONFIRM"],
      [observe({}, tool("mail", { risk: "critical" }), { autonomy: "A2" }), "CONFIRM"],
      [observe({ rules: [{ effect: "allow", tool: "drop" }] }, tool("drop", { effects: "destructive" })), "CONFIRM"],
      [observe({ runtime: [{ effect: "confirm" }] }, tool("mail")), "CONFIRM"],
    ];
    expect(enforced.map(([{ verdict }]) => verdict)).toEqual(enforced.map(([, verdict]) => verdict));
  });

  it("also after a rule has denied", () => {
    const decision = observe({ rules: [{ effect: "deny" }] }, tool("mail", { scopes: ["secrets:read"] }));
    expect(decision).toMatchObject({ verdict: "CONFIRM", observed: "DENY" });
    expect(observe({ rules: [{ effect: "deny" }] }, tool("m", { scopes: ["s"] }), { scopes: [] }).missingScope).toBe(
      "s",
    );
  });

  it("shows the calls that it lets pass", () => {
    const policy = createPolicy({ mode: "observe", default: "deny", rules: [{ effect: "deny", tool: "mail" }] });
    expect(policy.offers(principal, tool("mail"))).toBe(true);
    expect(policy.offers(principal, tool("drop", { effects: "destructive" }))).toBe(false);
  });

  it("holds for the tools of one server, if the operator observes only that", () => {
    const options: PolicyOptions = { default: "deny", rules: [{ effect: "deny", tool: "mail" }] };
    const watched = { server: "post", observe: true };
    expect(decide(options, tool("mail", watched))).toMatchObject({ verdict: "ALLOW", observed: "DENY" });
    expect(decide(options, tool("mail", { server: "other" }))).toMatchObject({ verdict: "DENY" });
    expect(decide(options, tool("mail", { server: "other" }))).not.toHaveProperty("observed");
    expect(decide(options, tool("mail", { ...watched, scopes: ["s"] }), { scopes: [] }).verdict).toBe("DENY");
    expect(decide({}, tool("mail", watched), { autonomy: "A0" }).verdict).toBe("PREVIEW");
    expect(decide({}, tool("mail", { ...watched, risk: "critical" }), { autonomy: "A2" }).verdict).toBe("CONFIRM");
    expect(createPolicy(options).offers(principal, tool("mail", watched))).toBe(true);
    expect(createPolicy(options).offers(principal, tool("mail", { server: "other" }))).toBe(false);
  });

  it("is part of the version, and nothing else than observe or enforce", () => {
    expect(createPolicy({ mode: "observe" }).version).not.toBe(createPolicy().version);
    expect(createPolicy({ mode: "enforce" }).version).toBe(createPolicy().version);
    expect(() => createPolicy({ mode: "warn" as "observe" })).toThrow(/`"warn"`/);
  });
});

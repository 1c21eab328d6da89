import type { Principal } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy } from "../decide.ts";
import type { Decision, ToolFacts } from "../policy.ts";
import { globMatcher } from "./glob.ts";
import type { Rule } from "./rule-schema.ts";

const principal: Principal = { tenant: "acme", agent: "planner", user: "ada" };

function decide(
  rules: readonly Rule[],
  more: Partial<ToolFacts> = {},
  who: Principal = principal,
  otherwise: "allow" | "deny" = "allow",
): Decision {
  const asked = tool("mail__send", { server: "mail", riskSource: "default", ...more });
  const facts = factsOf(asked, { principal: who, autonomy: "A3" });
  return createPolicy({ rules, default: otherwise }).decide(facts);
}

describe("a glob", () => {
  it("matches what the obvious regular expression matches", async () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "*", "."), maxLength: 8 });
    await fc.assert(
      fc.property(word, word, (pattern, name) => {
        const expression = new RegExp(
          `^${pattern
            .split("*")
            .map((piece) => piece.replaceAll(".", "\\."))
            .join("[^]*")}$`,
        );
        expect(globMatcher(pattern)(name)).toBe(expression.test(name));
      }),
      { numRuns: 5_000 },
    );
  });

  it("takes no longer for a pattern made to stall", async () => {
    await expectWork(500, () => expect(globMatcher("*a".repeat(2_000))(`${"a".repeat(50_000)}b`)).toBe(false));
  });
});

describe("permission rules", () => {
  it("deny wins over every allow, and is named with its number, id and reason", () => {
    const rules: Rule[] = [
      { effect: "allow", tool: "mail__send" },
      { effect: "allow" },
      {
        effect: "deny",
        server: "mail",
        id: "no-mail",
        reason: "not from here",
        where: "postern.yaml:7",
      },
    ];
    const decision = decide(rules);
    expect(decision.verdict).toBe("DENY");
    expect(decision.reasons).toEqual([
      { rule: "rule deny #3 (no-mail): not from here", effect: "DENY", where: "postern.yaml:7" },
    ]);
  });

  it("confirm asks where the matrix would not", () => {
    expect(decide([{ effect: "confirm", tool: "mail__*" }])).toMatchObject({
      verdict: "CONFIRM",
      reasons: expect.arrayContaining([{ rule: "rule confirm #1", effect: "CONFIRM" }]),
    });
  });

  it("allow never lowers a verdict", () => {
    expect(decide([{ effect: "allow", tool: "mail__send" }], { risk: "high" }).verdict).toBe("CONFIRM");
    expect(decide([{ effect: "allow", tool: "mail__send" }], { risk: "critical" }).verdict).toBe("BLOCK");
  });

  it("allow and confirm permit what the default refuses", () => {
    expect(decide([], {}, principal, "deny")).toMatchObject({
      verdict: "DENY",
      reasons: [{ rule: "default: deny", effect: "DENY" }],
    });
    expect(decide([{ effect: "allow", server: "mail" }], {}, principal, "deny").verdict).toBe("ALLOW");
    expect(decide([{ effect: "confirm", server: "mail" }], {}, principal, "deny").verdict).toBe("CONFIRM");
  });

  it("a destructive tool needs a line of its own", () => {
    const destructive = { effects: "destructive" } as const;
    expect(decide([], destructive)).toMatchObject({
      verdict: "DENY",
      reasons: [
        { rule: "adjuster destructive: its effects", effect: "RAISE" },
        { rule: "default: destructive needs a rule that names `mail__send`", effect: "DENY" },
      ],
    });
    expect(
      decide(
        [
          { effect: "allow" },
          { effect: "allow", tool: "*" },
          { effect: "allow", tool: "mail__*" },
          { effect: "confirm", server: "mail" },
        ],
        destructive,
      ).verdict,
    ).toBe("DENY");
    expect(decide([{ effect: "allow", tool: "mail__send" }], destructive).verdict).toBe("ALLOW");
    expect(decide([{ effect: "confirm", tool: "mail__send", action: "def*" }], destructive).verdict).toBe("CONFIRM");
  });

  it("takes effects it does not know for destructive ones", () => {
    expect(decide([], { effects: "harmless" as "read" }).verdict).toBe("DENY");
  });

  it("select by tool, action, server and principal, all of them", () => {
    const rule: Rule = {
      effect: "deny",
      tool: "mail*",
      action: "default",
      server: "mail",
      principal: { tenant: "acme", agent: "plan*", user: "ada" },
    };
    expect(decide([rule]).verdict).toBe("DENY");
    for (const other of [{ tool: "nail" }, { action: "draft" }, { server: "post" }])
      expect(decide([rule], other).verdict).toBe("ALLOW");
    for (const other of [{ tenant: "b" }, { agent: "b" }, { user: "b" }])
      expect(decide([rule], {}, { ...principal, ...other }).verdict).toBe("ALLOW");
  });

  it("that ask for a server or a user do not match where there is none", () => {
    const own = tool("mail__send", { riskSource: "default" });
    const { user: _user, ...nobody } = principal;
    const policy = createPolicy({
      rules: [
        { effect: "deny", server: "*" },
        { effect: "deny", principal: { user: "*" } },
      ],
    });
    expect(policy.decide(factsOf(own, { principal: nobody, autonomy: "A3" })).verdict).toBe("ALLOW");
  });

  it("are found for a tool called constructor, and only for it", () => {
    const rules: Rule[] = [{ effect: "deny", tool: "constructor" }];
    expect(decide(rules, { tool: "constructor" }).verdict).toBe("DENY");
    expect(decide(rules, { tool: "toString" }).verdict).toBe("ALLOW");
  });

  it.each([
    [[{ effect: "permit" }], '`"permit"`'],
    [[{}], "`rules[0].effect`: It is missing"],
    [
      [{ effect: "deny" }, { effect: "deny", tol: "mail" }],
      "`rules[1].tol`: `tol` is not a known key. Did you mean `tool`?",
    ],
    [[{ effect: "deny", tool: "" }], "`rules[0].tool`: It is empty"],
    [[{ effect: "deny", tool: 7 }], "`7`"],
    [[{ effect: "deny", principal: { name: "ada" } }], "`rules[0].principal.name`"],
    [[{ effect: "deny", principal: "ada" }], "`rules[0].principal`"],
    [[{ effect: "deny", reason: {} }], "`rules[0].reason`"],
    [["deny"], "`rules[0]`"],
    [{ effect: "deny" }, "`rules`"],
  ])("refuse %j and name what is wrong", (rules, named) => {
    const made = (): unknown => createPolicy({ rules: rules as readonly Rule[] });
    expect(made).toThrow(expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(named) }));
  });
});

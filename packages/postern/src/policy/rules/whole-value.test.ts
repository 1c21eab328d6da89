import type { Json } from "@postern/core";
import { digestOf } from "@postern/core/system";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../../../../../test/fakes/policy-arbitraries.ts";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { reference } from "../../../../../test/fakes/reference-policy.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Condition } from "./rule-schema.ts";
import { checkedValue, isSame } from "./whole-value.ts";

const leaf = fc.constantFrom(0, -0, 1, "", "a", null, true);
const name = fc.constantFrom("a", "b", "constructor", "toString");
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc.array(tie("tree"), { maxLength: 2 }),
    fc.dictionary(name, tie("tree"), { maxKeys: 2 }),
  ),
}));

const condition: fc.Arbitrary<Condition> = fc
  .oneof(fc.record({ equals: tree }), fc.record({ oneOf: fc.array(tree, { maxLength: 3 }) }))
  .chain((plain) => fc.constantFrom<Condition>(plain, { not: plain }));

describe("a value as a whole", () => {
  it("is held in rules as the slow reading of the specification holds it", async () => {
    const effects = fc.constantFrom("allow" as const, "confirm" as const, "deny" as const);
    await fc.assert(
      fc.property(effects, condition, tree, (effect, wanted, to) => {
        const rules = [{ effect, tool: "mail", arguments: { "$.to": wanted } }];
        const options: PolicyOptions = { rules, default: effect === "allow" ? "deny" : "allow", adjusters: false };
        const policy = createPolicy(options);
        for (const value of [to, wanted.equals, wanted.not?.equals]) {
          const facts = factsOf(tool("mail"), { arguments: value === undefined ? {} : { to: value } });
          expect(policy.decide(facts)).toMatchObject(reference(options, facts));
        }
      }),
      runs(0.4),
    );
  });

  it("is the same as another exactly when both have the same digest", async () => {
    await fc.assert(
      fc.property(tree, tree, (one, other) => {
        const wanted = checkedValue(one, "it");
        for (const value of [one, other, [one], { a: one }])
          expect(isSame(wanted, value)).toBe(digestOf(one) === digestOf(value));
      }),
      runs(0.4),
    );
  });

  it("is the value of that time, also if the object changes later", () => {
    const given = { to: ["ada"] };
    const wanted = checkedValue(given, "it");
    given.to.push("eve");
    expect(isSame(wanted, { to: ["ada"] })).toBe(true);
  });

  it("does not see a member that is undefined, as its text does not", () => {
    expect(isSame({ a: 1 }, { a: 1, b: undefined } as unknown as Json)).toBe(true);
    expect(isSame({ a: 1 }, { b: 1, a: undefined } as unknown as Json)).toBe(false);
  });
});

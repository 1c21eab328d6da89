import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conditionsFor, fixable, longestValue } from "../../console/src/screens/approvals/grant-scope.ts";
import type { JsonObject } from "../../packages/core/src/json.ts";
import { digestOf } from "../../packages/core/src/system/digest.ts";
import { fits } from "../../packages/postern/src/approvals/grant.ts";
import { compileConditions } from "../../packages/postern/src/policy/rules/condition.ts";
import type { Conditions } from "../../packages/postern/src/policy/rules/rule-schema.ts";
import { longestValue as longest } from "../../packages/postern/src/policy/rules/whole-value.ts";

function holds(given: JsonObject, names: readonly string[], other: JsonObject): boolean {
  const conditions = conditionsFor(given, names, []) as Conditions; // the words of a policy
  return fits(compileConditions(conditions, "the dialog"), other);
}

const anyGiven = fc.dictionary(fc.string({ minLength: 1, unit: "grapheme" }), fc.jsonValue({ maxDepth: 2 }), {
  minKeys: 1,
  maxKeys: 4,
}) as fc.Arbitrary<JsonObject>;

describe("the arguments that a grant can fix", () => {
  it("include every argument; only a call with the same value matches", async () => {
    await fc.assert(
      fc.property(anyGiven, fc.jsonValue({ maxDepth: 2 }), (given, other) => {
        fc.pre(!JSON.stringify([given, other]).includes("__proto__"));
        const names = fixable(given, []);
        expect(names).toEqual(Object.keys(given));
        expect(holds(given, names, given)).toBe(true);
        const [name = ""] = names;
        const changed = { ...given, [name]: other } as JsonObject; // fast-check made JSON
        expect(holds(given, [name], changed)).toBe(digestOf(changed) === digestOf(given));
      }),
    );
  });

  it("stay within the limits of a condition and of a grant", () => {
    expect(longestValue).toBe(longest);
    const fit = "a".repeat(longestValue - 2);
    expect(fixable({ fit, long: `${fit}a`, "": 1 }, [])).toEqual(["fit"]);
    expect(holds({ fit }, ["fit"], { fit })).toBe(true);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`a${i}`, fit]));
    expect(fixable(many, [])).toHaveLength(9);
    expect(fixable(many, [fit.slice(0, 5000)])).toHaveLength(9);
    expect(fixable(many, [fit])).toHaveLength(8);
  });
});

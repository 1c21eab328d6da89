import type { JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy } from "../decide.ts";
import type { Decision, Facts } from "../policy.ts";
import type { Condition, Rule } from "./rule-schema.ts";

function facts(args: JsonObject): Facts {
  return factsOf(tool("mail", { action: "send" }), { arguments: args });
}

function decide(effect: Rule["effect"], conditions: Rule["arguments"], args: JsonObject): Decision["verdict"] {
  const rule: Rule = { effect, tool: "mail", ...(conditions !== undefined && { arguments: conditions }) };
  return createPolicy({ rules: [rule], default: effect === "allow" ? "deny" : "allow" }).decide(facts(args)).verdict;
}

/** What each effect makes of one value under one condition. */
function outcomes(condition: Condition, args: JsonObject, path = "$.to"): string {
  const conditions = { [path]: condition };
  const [allow, confirm, deny] = (["allow", "confirm", "deny"] as const).map((effect) =>
    decide(effect, conditions, args),
  );
  return `${allow === "ALLOW" ? "permits" : "-"} ${confirm === "CONFIRM" ? "asks" : "-"} ${deny === "DENY" ? "denies" : "-"}`;
}

const holds = "permits asks denies";
const fails = "- - -";
const missing = "- - denies";
const unclear = "- asks denies";

describe("a condition on an argument", () => {
  it.each<[Condition, JsonObject[string] | undefined, string]>([
    [{ equals: "ada" }, "ada", holds],
    [{ equals: "ada" }, "Ada", fails],
    [{ equals: "ada" }, 7, unclear],
    [{ equals: "ada" }, ["ada"], unclear],
    [{ equals: "ada" }, null, unclear],
    [{ equals: "ada" }, undefined, missing],
    [{ equals: null }, null, holds],
    [{ equals: null }, "ada", fails],
    [{ equals: true }, "true", unclear],
    [{ oneOf: ["ada", 7] }, 7, holds],
    [{ oneOf: ["ada", 7] }, "bob", fails],
    [{ oneOf: ["ada", 7] }, true, unclear],
    [{ oneOf: [] }, "ada", fails],
    [{ equals: { a: 1, b: [2] } }, { b: [2], a: 1 }, holds],
    [{ equals: { a: 1 } }, { a: 1, b: 2 }, fails],
    [{ equals: { a: 1, b: 2 } }, { a: 1 }, fails],
    [{ equals: { a: { b: -0 } } }, { a: { b: 0 } }, holds],
    [{ equals: { a: 1 } }, [1], unclear],
    [{ equals: { a: 1 } }, "ada", unclear],
    [{ equals: { a: 1 } }, null, unclear],
    [{ equals: { a: 1 } }, undefined, missing],
    [{ equals: {} }, {}, holds],
    [{ equals: [1, [2]] }, [1, [2]], holds],
    [{ equals: [1, 2] }, [2, 1], fails],
    [{ equals: [] }, [], holds],
    [{ equals: [] }, {}, unclear],
    [{ oneOf: [["a"], { b: 1 }, "c"] }, ["a"], holds],
    [{ oneOf: [["a"], { b: 1 }, "c"] }, { b: 2 }, fails],
    [{ oneOf: [["a"], { b: 1 }, "c"] }, 7, unclear],
    [{ not: { equals: { a: 1 } } }, { a: 2 }, holds],
    [{ not: { equals: { a: 1 } } }, [1], unclear],
    [{ like: "*@acme.com" }, "ada@acme.com", holds],
    [{ like: "*@acme.com" }, "ada@ACME.com", fails],
    [{ like: "*@ACME.com", ignoreCase: true }, "ada@acme.COM", holds],
    [{ like: "*@acme.com" }, "ada@acme.com.evil.com", fails],
    [{ like: ["ada", "bob"] }, "bob", holds],
    [{ like: "*" }, 7, unclear],
    [{ path: "/work/**" }, "/work/a", holds],
    [{ path: "/work/**" }, "/etc/a", fails],
    [{ path: "/work/**" }, "/work/../etc/a", unclear],
    [{ path: ["/a/**", "/work/**"] }, "/work/a", holds],
    [{ path: "/work/**", relativeTo: "/work" }, "a", holds],
    [{ host: "*.acme.com" }, "https://www.acme.com/a", holds],
    [{ host: "acme.com" }, "https://acme.com@evil.com/", unclear],
    [{ host: ["acme.com", "evil.com"] }, "https://good.com/", fails],
    [{ above: 1 }, 1, fails],
    [{ atLeast: 1 }, 1, holds],
    [{ below: 1 }, 1, fails],
    [{ atMost: 1 }, 1, holds],
    [{ above: 1, below: 3 }, 2, holds],
    [{ above: 100 }, "500", unclear],
    [{ above: 100 }, undefined, missing],
    [{ length: { atMost: 3 } }, "ada", holds],
    [{ length: { atMost: 3 } }, [1, 2, 3, 4], fails],
    [{ length: { atLeast: 1, atMost: 3 } }, [], fails],
    [{ length: { atMost: 3 } }, { a: 1 }, unclear],
    [{ present: true }, null, holds],
    [{ present: true }, undefined, fails],
    [{ present: false }, undefined, holds],
    [{ present: false }, "ada", fails],
    [{ not: { equals: "ada" } }, "bob", holds],
    [{ not: { equals: "ada" } }, "ada", fails],
    [{ not: { equals: "ada" } }, 7, unclear],
    [{ not: { equals: "ada" } }, undefined, missing],
    [{ not: { path: "/work/**" } }, "/work/../a", unclear],
    [{ present: true, not: { path: "/work/**" } }, undefined, fails],
    [{ like: "a*", not: { equals: "ada" } }, "anna", holds],
    [{ like: "b*", length: { atMost: 1 } }, "ada", fails],
  ])("%j of %j: %s", (condition, value, outcome) => {
    expect(outcomes(condition, value === undefined ? {} : { to: value })).toBe(outcome);
  });

  it.each<[string, Condition, JsonObject, string]>([
    ["$.items[*].amount", { atMost: 10 }, { items: [{ amount: 1 }, { amount: 10 }] }, holds],
    ["$.items[*].amount", { atMost: 10 }, { items: [{ amount: 1 }, { amount: 11 }] }, "- asks denies"],
    ["$.items[*].amount", { atMost: 10 }, { items: [{ amount: 11 }] }, fails],
    ["$.items[*].amount", { atMost: 10 }, { items: [{ amount: 11 }, {}] }, missing],
    ["$.items[*].amount", { atMost: 10 }, { items: [] }, fails],
    ["$.items[*].amount", { atMost: 10 }, {}, missing],
    ["$.items[*].amount", { atMost: 10 }, { items: "11" }, unclear],
    ["$.rows[*][*]", { equals: 1 }, { rows: [[1, 1], [1]] }, holds],
    ["$.rows[*][*]", { equals: 1 }, { rows: [[1, 2], []] }, "- asks denies"],
    ["$.items[0]", { equals: "a" }, { items: ["a", "b"] }, holds],
    ["$.items[2]", { equals: "a" }, { items: ["a", "b"] }, missing],
    ['$["odd.name"].x', { equals: "a" }, { "odd.name": { x: "a" } }, holds],
    ['$["a\\"b"]', { equals: "a" }, { 'a"b': "a" }, holds],
    ["$.constructor", { present: true }, {}, fails],
    ["$.to.length", { atMost: 3 }, { to: "ada" }, unclear],
    ["$.größe", { equals: 1 }, { größe: 1 }, holds],
  ])("at %s, %j in %j: %s", (path, condition, args, outcome) => {
    expect(outcomes(condition, args, path)).toBe(outcome);
  });

  it("all conditions of a rule must hold", () => {
    const both = { "$.to": { like: "*@acme.com" }, "$.amount": { atMost: 10 } };
    expect(decide("allow", both, { to: "ada@acme.com", amount: 10 })).toBe("ALLOW");
    expect(decide("allow", both, { to: "ada@acme.com", amount: 11 })).toBe("DENY");
    expect(decide("deny", both, { to: "ada@acme.com", amount: 11 })).toBe("ALLOW");
    expect(decide("deny", both, { to: "ada@acme.com" })).toBe("DENY");
  });

  it("a confirm that is in doubt asks, and does not permit what the default refuses", () => {
    const rule: Rule = { effect: "confirm", tool: "mail", arguments: { "$.amount": { above: 10 } } };
    const verdict = (more: readonly Rule[], amount: string | number): string =>
      createPolicy({ rules: [rule, ...more], default: "deny" }).decide(facts({ amount })).verdict;
    expect(verdict([], 11)).toBe("CONFIRM");
    expect(verdict([], "11")).toBe("DENY");
    expect(verdict([{ effect: "allow", tool: "mail" }], "11")).toBe("CONFIRM");
  });

  it("a denial by default names the allow that did not hold", () => {
    const policy = createPolicy({
      default: "deny",
      rules: [
        { effect: "allow", id: "team", tool: "mail", arguments: { "$.to": { like: "*@acme.com" } }, where: "p.yaml:4" },
      ],
    });
    expect(policy.decide(facts({ to: "eve@evil.com" })).reasons).toEqual([
      { rule: "default: deny", effect: "DENY" },
      { rule: "rule allow #1 (team) does not hold for this call", effect: "DENY", where: "p.yaml:4" },
    ]);
  });

  it.each<[unknown, string]>([
    [{ to: { equals: 1 } }, "`to` cannot be a name"],
    [{ $: { equals: 1 } }, "`$` cannot be a name"],
    [{ "$.": { equals: 1 } }, "`$.` in"],
    [{ "$[0]": { equals: 1 } }, "`$[0]` in"],
    [{ "$.a b": { equals: 1 } }, "`$.a b` in"],
    [{ "$.a[-1]": { equals: 1 } }, "is not a path"],
    [{ "$.a": {} }, "is empty"],
    [{ "$.a": { equal: 1 } }, "Did you mean `equals`?"],
    [
      { "$.a": { equals: Number.NaN } },
      "`equals` of `$.a` of `arguments` of rule deny #1 is not a JSON value: this is NaN",
    ],
    [{ "$.a": { equals: { b: [Number.POSITIVE_INFINITY] } } }, "`b[0]` is Infinity"],
    [{ "$.a": { oneOf: [new Map()] } }, "of the class `Map`"],
    [{ "$.a": { equals: "\ud800" } }, "half of a surrogate pair"],
    [{ "$.a": { equals: "a".repeat(9_999) } }, "is 10001 characters of JSON, and 10000 are the most"],
    [{ "$.a": { oneOf: "ada" } }, "is not a list"],
    [{ "$.a": { like: "" } }, "It is empty"],
    [{ "$.a": { like: "/work/*" } }, "use `path` or `host`"],
    [{ "$.a": { ignoreCase: true } }, "`ignoreCase`"],
    [{ "$.a": { like: "a", ignoreCase: 1 } }, "true or false"],
    [{ "$.a": { path: "/a/../b" } }, "not canonical"],
    [{ "$.a": { path: "/a", relativeTo: "/*" } }, "a folder"],
    [{ "$.a": { host: "https://a.com" } }, "no host"],
    [{ "$.a": { above: "1" } }, "is not a number"],
    [{ "$.a": { length: {} } }, "is empty"],
    [{ "$.a": { length: { above: 1 } } }, "Known here: atLeast, atMost"],
    [{ "$.a": { present: 1 } }, "true or false"],
    [{ "$.a[*]": { present: true } }, "without `[*]`"],
    [{ "$.a[*]": { not: { present: true } } }, "without `[*]`"],
    [{ "$.a": { not: { not: { equals: 1 } } } }, "`not` is not a known key"],
    [["$.a"], "is not an object"],
  ])("refuses %j and names what is wrong", (conditions, named) => {
    const made = (): unknown =>
      createPolicy({ rules: [{ effect: "deny", arguments: conditions as Record<string, Condition> }] });
    expect(made).toThrow(expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(named) }));
  });
});

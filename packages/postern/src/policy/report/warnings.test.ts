import { describe, expect, it } from "vitest";
import { tool } from "../../../../../test/fakes/policy-facts.ts";
import type { PolicyOptions } from "../decide.ts";
import type { Rule } from "../rules/rule-schema.ts";
import { policyWarnings } from "./warnings.ts";

const tools = [
  tool("mail__send", { server: "mail" }),
  tool("files__read"),
  tool("files__delete", { effects: "destructive" }),
];

function told(rules: readonly Rule[], more: PolicyOptions = {}): readonly string[] {
  return policyWarnings({ ...more, rules }, tools).map(({ code, message }) => `${code}: ${message}`);
}

describe("warnings about a policy", () => {
  it("there are none about a sound one", () => {
    expect(
      told([
        { effect: "allow", tool: "files__delete", arguments: { "$.path": { path: "/tmp/**" } } },
        { effect: "confirm", server: "mail", arguments: { "$.to": { not: { like: "*@acme.com" } } } },
        { effect: "deny", tool: "files__*", principal: { agent: "intern" } },
        { effect: "deny", tool: "mail__send", history: { within: "run", requires: { tool: "files__read" } } },
      ]),
    ).toEqual([]);
  });

  it("a rule that matches no tool, with the name that was meant, and its place", () => {
    const rules: Rule[] = [{ effect: "deny", tool: "mail__sned", id: "typo", where: "p.yaml:7" }];
    expect(policyWarnings({ rules }, tools)).toEqual([
      {
        code: "matches_no_tool",
        rule: "rule deny #1 (typo)",
        message:
          "The rule deny #1 (typo) matches no tool that is registered, so it denies nothing; did you mean `mail__send`?",
        where: "p.yaml:7",
      },
    ]);
    expect(policyWarnings({ rules })).toEqual([]);
  });

  it.each<[Partial<Rule>, string]>([
    [{ tool: "web__*" }, "matches no tool"],
    [{ tool: "mail__send", server: "post" }, "matches no tool"],
    [{ scope: "mail:*" }, "matches no tool"],
    [{ tool: "files__read", effects: "read" }, "matches no tool"],
    [{ history: { within: "run", requires: { tool: "read_file" } } }, "`requires` of rule deny #1 names `read_file`"],
    [{ history: [{ within: "run", forbids: { tool: "vault" } }] }, "`forbids` of rule deny #1 names `vault`"],
    [{ arguments: { "$.a": { oneOf: [] } } }, "never holds: `oneOf` is empty"],
    [{ arguments: { "$.a": { like: [] } } }, "never holds: `like` is empty"],
    [{ arguments: { "$.a": { not: { path: [] } } } }, "always holds, for in `not` `path` is empty"],
    [{ arguments: { "$.a": { above: 5, atMost: 5 } } }, "no number is in its range"],
    [{ arguments: { "$.a": { atLeast: 6, atMost: 5 } } }, "no number is in its range"],
    [{ arguments: { "$.a": { above: 5, below: 5 } } }, "no number is in its range"],
    [{ arguments: { "$.a": { length: { atLeast: 2, atMost: 1 } } } }, "no length is in its range"],
    [{ arguments: { "$.a": { length: { atMost: -1 } } } }, "no length is in its range"],
    [{ arguments: { "$.a": { present: false, equals: 1 } } }, "what is not there has no value"],
  ])("of %j", (fields, said) => {
    expect(told([{ effect: "deny", ...fields }])).toEqual([expect.stringContaining(said)]);
  });

  it("not of a range that one number is in", () => {
    expect(told([{ effect: "deny", arguments: { "$.a": { atLeast: 5, atMost: 5 } } }])).toEqual([]);
  });

  it("two rules that contradict, both named", () => {
    const same = { tool: "mail__send", arguments: { "$.to": { like: "a*" } } };
    expect(
      told(
        [
          { effect: "allow", ...same, id: "yes" },
          { effect: "deny", arguments: same.arguments, tool: same.tool, where: "p.yaml:9" },
        ],
        { default: "deny" },
      ),
    ).toEqual([
      "contradiction: The rule allow #1 (yes) never permits anything: rule deny #2 (p.yaml:9) denies the same calls, and deny wins.",
    ]);
  });

  it("a rule that a wider denial makes useless, but not one that a narrower denial only limits", () => {
    const wide = told([
      { effect: "deny", tool: "files__delete" },
      { effect: "allow", tool: "files__delete", principal: { user: "ada" } },
    ]);
    expect(wide).toEqual([expect.stringContaining("rule allow #2 never permits anything: rule deny #1 denies")]);
    expect(
      told([
        { effect: "allow", tool: "files__delete" },
        { effect: "deny", tool: "files__delete", principal: { user: "eve" } },
      ]),
    ).toEqual([]);
    expect(
      told([
        { effect: "allow", tool: "files__delete" },
        { effect: "deny", risk: "high", tool: "files__delete" },
      ]),
    ).toEqual([]);
  });

  it("a rule that says the same as another", () => {
    expect(
      told([
        { effect: "deny", tool: "mail__send" },
        { effect: "deny", tool: "mail__send", reason: "again" },
      ]),
    ).toEqual(["duplicate: The rule deny #2 says the same as rule deny #1."]);
  });

  it("an allow with conditions where everything is allowed anyway", () => {
    const rule: Rule = { effect: "allow", tool: "mail__send", arguments: { "$.to": { like: "*@acme.com" } } };
    expect(told([rule])).toEqual([expect.stringMatching(/^no_effect: The rule allow #1 refuses nothing/)]);
    expect(told([rule], { default: "deny" })).toEqual([]);
    expect(told([{ ...rule, tool: "files__delete" }])).toEqual([]);
  });

  it("a policy that only observes", () => {
    expect(policyWarnings({}, [...tools, tool("a", { server: "post", observe: true })])).toEqual([
      { code: "observing", message: expect.stringMatching(/^Calls of `post` are only observed/) },
    ]);
    expect(told([], { mode: "observe" })).toEqual([expect.stringMatching(/^observing: The policy observes/)]);
  });
});

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../../test/fakes/config-folder.ts";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy } from "../decide.ts";
import type { Facts } from "../policy.ts";

const folder = new ConfigFolder();
afterAll(() => folder[Symbol.dispose]());

const text = `
policy:
  default: deny
  mode: observe
  rules:
    - effect: allow
      tool: pay
      risk: safe
      scope: "pay:*"
      effects: [read, write]
      arguments:
        $.to: { one_of: [ada, bob], not: { like: "*x*", ignore_case: true } }
        $.amount: { at_least: 0, at_most: 100, above: -1, below: 101 }
        $.file: { path: ["/work/**"], relative_to: /work }
        $.items[*].at_most: { length: { at_least: 1, at_most: 3 } }
        '$["at_most"]': { present: false }
      history:
        - { within: run, window_seconds: 3600, at_most: 3, state: [ok, attempted] }
        - within: tenant
          sum: { path: $.amount, at_most: 500 }
          requires: { tool: read, same: { $.file: $.path }, same_path: $.at }
          forbids: { tool: vault, action: open }
    - { effect: deny, tool: drop }
  sandbox:
    - { tool: write_*, argument: $.path, within: ["/work/**"], relative_to: /work, effects: write }
`;

describe("rules in a file", () => {
  it("become rules with TypeScript names, each with its line; names of users stay", async () => {
    const { policy } = await folder.load(text);
    expect(policy).toEqual({
      default: "deny",
      mode: "observe",
      rules: [
        {
          effect: "allow",
          tool: "pay",
          risk: "safe",
          scope: "pay:*",
          effects: ["read", "write"],
          arguments: {
            "$.to": { oneOf: ["ada", "bob"], not: { like: "*x*", ignoreCase: true } },
            "$.amount": { atLeast: 0, atMost: 100, above: -1, below: 101 },
            "$.file": { path: ["/work/**"], relativeTo: "/work" },
            "$.items[*].at_most": { length: { atLeast: 1, atMost: 3 } },
            '$["at_most"]': { present: false },
          },
          history: [
            { within: "run", windowSeconds: 3600, atMost: 3, state: ["ok", "attempted"] },
            {
              within: "tenant",
              sum: { path: "$.amount", atMost: 500 },
              requires: { tool: "read", same: { "$.file": "$.path" }, samePath: "$.at" },
              forbids: { tool: "vault", action: "open" },
            },
          ],
          where: expect.stringMatching(/^config-\d+\.yaml:6$/),
        },
        { effect: "deny", tool: "drop", where: expect.stringMatching(/:23$/) },
      ],
      sandbox: [
        {
          tool: "write_*",
          argument: "$.path",
          within: ["/work/**"],
          relativeTo: "/work",
          effects: "write",
          where: expect.stringMatching(/:25$/),
        },
      ],
    });
    expect(createPolicy(policy).reads).toEqual({ run: 3_600_000, tenant: Number.POSITIVE_INFINITY });
  });

  it("leave the names in a value as they are", async () => {
    const whole = { at_most: 1, oneOf: [{ same_path: true, list: [{ one_of: 1 }] }] };
    const conditions = { "$.a": { equals: whole }, "$.b": { oneOf: [whole, [whole]], not: { equals: whole } } };
    const asFile = JSON.stringify(conditions).replace('"oneOf":[{"at_most":1,', '"one_of":[{"at_most":1,');
    const file = await folder.load(`policy: { rules: [{ effect: deny, arguments: ${asFile} }] }`);
    expect(file.policy.rules?.[0]?.arguments).toEqual(conditions);
    const module = `export default { policy: { rules: [{ effect: "deny", arguments: ${JSON.stringify(conditions)} }] } };`;
    const code = await folder.load(module, { ending: "config.ts" });
    expect(code.policy.rules?.[0]?.arguments).toEqual(conditions);
  });

  it("say the same in TypeScript", async () => {
    const module = `export default { policy: { rules: [{ effect: "deny", tool: "pay", arguments: { "$.at_most": { atMost: 5, not: { oneOf: [1] } } },
      history: { within: "run", windowSeconds: 5, sum: { path: "$.amount", atMost: 9 } } }] } };`;
    const { policy } = await folder.load(module, { ending: "config.ts" });
    expect(policy.rules?.[0]).toMatchObject({
      arguments: { "$.at_most": { atMost: 5, not: { oneOf: [1] } } },
      history: { within: "run", windowSeconds: 5, sum: { path: "$.amount", atMost: 9 } },
    });
  });

  it.each([
    ["{ effect: deny, arguments: { $.to: { equal: ada } } }", /equal.*Did you mean `equals`/],
    ["{ effect: deny, arguments: { to: { equals: ada } } }", /\$\.name/],
    ["{ effect: deny, arguments: { $.a b: { equals: ada } } }", /`\$\.a b` in .*is not a path/],
    ["{ effect: deny, arguments: { $.to: { like: /work/* } } }", /use `path` or `host`/],
    ["{ effect: deny, history: { within: run, at_mots: 3 } }", /at_mots/],
    ["{ effect: deny, history: { within: session, at_most: 3 } }", /session|within/],
    ["{ effect: deny, history: { within: run } }", /asks for nothing/],
    ["{ effect: deny, risk: higher }", /high/],
    ["{ effect: deny, effects: [write, delete] }", /effects/],
  ])("%s is refused, with its place and what to write", async (rule, said) => {
    const lines = await problemsOf(folder.load(`policy:\n  rules:\n    - ${rule}\n`));
    expect(lines.join("\n")).toMatch(/^FILE:\d+/);
    expect(lines.join("\n")).toMatch(said);
  });

  it("work together with a Cedar policy set that only adds denials", async () => {
    writeFileSync(
      join(folder.path, "house.cedar"),
      'permit(principal, action, resource); @id("big") forbid(principal, action, resource) when { context.args has amount && context.args.amount > 100 };',
    );
    const { policy } = await folder.load(
      "policy:\n  cedar:\n    policies: house.cedar\n    arguments: { amount: { path: $.amount, kind: long } }\n",
    );
    const asked = (amount: number): Facts => factsOf(tool("pay"), { arguments: { amount } });
    const decide = (amount: number): string => createPolicy(policy).decide(asked(amount)).verdict;
    expect([decide(100), decide(101), decide(1.5)]).toEqual(["ALLOW", "DENY", "DENY"]);
  });

  it.each([
    ["nowhere.cedar", /cannot be read/],
    ["broken.cedar", /not loaded/],
  ])("are refused with the Cedar file %s", async (file, said) => {
    writeFileSync(join(folder.path, "broken.cedar"), "permit(principal, action, resource) when { resource.rsk > 1 };");
    const lines = await problemsOf(folder.load(`policy:\n  cedar: { policies: ${file} }\n`));
    expect(lines.join("\n")).toMatch(said);
  });
});

import type { JsonObject } from "@postern/core";
import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { cedarFrom } from "../../../../../test/oracles/cedar-export.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Facts, Finding } from "../policy.ts";
import { type CedarOptions, cedarLayer, cedarSchema } from "./cedar.ts";

const scopes = ["mail:write"];
const send = tool("mail__send", { server: "mail", risk: "medium", scopes });

function facts(args: JsonObject = {}, more: Partial<Facts> = {}): Facts {
  const principal = { tenant: "acme", agent: "planner", user: "ada" };
  return factsOf(send, { principal, scopes, arguments: args, now: 1_700_000_000_000, ...more });
}

const open = "permit(principal, action, resource);";

async function weigh(
  policies: string,
  asked: Facts = facts(),
  more: Partial<CedarOptions> = {},
): Promise<readonly Finding[]> {
  return (await cedarLayer({ policies, ...more })).weigh(asked);
}

describe("a Cedar layer", () => {
  it("adds nothing to what its policies permit", async () => {
    expect(await weigh(open)).toEqual([]);
  });

  it("denies forbidden calls by name, and calls that no policy permits", async () => {
    const forbid = '@id("no-mail") forbid(principal, action, resource) when { resource.name like "mail__*" };';
    expect(await weigh(`${open} ${forbid}`)).toEqual([
      { guardrail: "cedar", effect: "DENY", why: "forbidden by `no-mail`" },
    ]);
    expect(
      await weigh(
        'permit(principal, action, resource) when { principal.user == "bob" };'.replace(
          "principal.user ==",
          "principal has user && principal.user ==",
        ),
      ),
    ).toEqual([{ guardrail: "cedar", effect: "DENY", why: "no policy permits it" }]);
    expect(await weigh("")).toMatchObject([{ effect: "DENY" }]);
  });

  it("asks where a permit says so, also beside one that does not", async () => {
    const asking = '@id("dear") @gate("confirm") permit(principal, action, resource) when { resource.risk >= 1 };';
    expect(await weigh(`${open} ${asking}`)).toEqual([{ guardrail: "cedar", effect: "CONFIRM", why: "`dear` asks" }]);
    expect(await weigh(`${open} ${asking}`, facts({}, { tool: { ...send, risk: "safe" } }))).toEqual([]);
  });

  it("sees who calls, what, how dangerous this call is, and the arguments that were chosen", async () => {
    const policies =
      `permit(principal == Postern::Agent::"[\\"acme\\",\\"planner\\"]", action == Postern::Action::"call", resource == Postern::Tool::"mail__send")
      when { principal.tenant == "acme" && resource.scopes.contains("mail:write") && context.granted.containsAll(resource.scopes)
        && context.autonomy == "A4" && context.now > 0 && context.args has to && context.args.to like "*@acme.com"
        && context.args has all && context.args.all.contains("ada") && context.args.late == false };`.replace(
        "context.autonomy ==",
        "context has autonomy && context.autonomy ==",
      );
    const args = {
      to: { path: "$.to", kind: "string" },
      all: { path: "$.all", kind: "strings" },
      late: { path: "$.late", kind: "present" },
    } as const;
    expect(await weigh(policies, facts({ to: "ada@acme.com", all: ["ada"] }), { arguments: args })).toEqual([]);
    expect(await weigh(policies, facts({ to: "eve@evil.com", all: ["ada"] }), { arguments: args })).toMatchObject([
      { effect: "DENY" },
    ]);
    const raised = facts({}, { suggestion: { risk: "critical" } });
    expect(
      await weigh(`${open} forbid(principal, action, resource) when { resource.risk == 3 };`, raised),
    ).toMatchObject([{ effect: "DENY" }]);
  });

  it.each<[JsonObject[string], "string" | "long" | "boolean" | "strings"]>([
    [7, "string"],
    [null, "string"],
    [2.5, "long"],
    [2 ** 53, "long"],
    ["1", "long"],
    ["true", "boolean"],
    [["a", 1], "strings"],
    [{ __entity: { type: "Postern::Agent", id: "x" } }, "string"],
    [{ __extn: { fn: "ip", arg: "10.0.0.1" } }, "string"],
  ])("denies when the argument is %j and no %s", async (value, kind) => {
    const found = await weigh(open, facts({ x: value }), { arguments: { x: { path: "$.x", kind } } });
    expect(found).toEqual([{ guardrail: "cedar", effect: "DENY", why: `argument \`x\` is no ${kind}` }]);
  });

  it("denies when a policy fails: Cedar would skip the forbid, and allow", async () => {
    const overflow = '@id("sum") forbid(principal, action, resource) when { context.now * 9007199254740991 > 0 };';
    expect(await weigh(`${open} ${overflow}`)).toEqual([
      { guardrail: "cedar", effect: "DENY", why: expect.stringMatching(/^`sum` failed: .*overflow/) },
    ]);
  });

  it("denies when a request does not fit the schema, or Cedar throws", async () => {
    expect(await weigh(open, facts({}, { now: 1.5 }))).toMatchObject([{ effect: "DENY" }]);
    expect(await weigh(open, facts({}, { principal: { tenant: 7 as unknown as string, agent: "x" } }))).toMatchObject([
      { effect: "DENY" },
    ]);
    expect(await weigh(open, null as unknown as Facts)).toMatchObject([
      { effect: "DENY", why: expect.stringMatching(/^it failed/) },
    ]);
    const schema = cedarSchema().replace("risk: Long", "risk: String");
    expect(await weigh(open, facts(), { schema })).toMatchObject([{ effect: "DENY" }]);
  });

  it.each([
    ["permit(principal, action, resource) when { resource.rsk > 1 };", /rsk/],
    ['permit(principal, action, resource) when { context.args.to == "ada" };', /to/],
    ['permit(principal, action, resource) when { principal.user == "ada" };', /user/],
    ["permit(principal, action, resource)", /unexpected/],
    ['@gate("ask") permit(principal, action, resource);', /means nothing/],
    ['@gate("confirm") forbid(principal, action, resource);', /means nothing/],
    ['@id("a") permit(principal, action, resource); @id("a") forbid(principal, action, resource);', /Two policies/],
    ["permit(principal == ?principal, action, resource);", /Templates/],
  ])("does not load %s", async (policies, why) => {
    const loading = cedarLayer({ policies, arguments: { to: { path: "$.to", kind: "string" } } });
    await expect(loading).rejects.toMatchObject({ code: "policy_invalid", message: expect.stringMatching(why) });
  });

  it.each([
    [{ "a-b": { path: "$.a", kind: "string" } }, "is no name"],
    [{ a: { path: "$.a", kind: "float" } }, '`"float"`'],
    [{ a: { path: "$.a[*]", kind: "string" } }, "`[*]`"],
    [{ a: { path: "a", kind: "string" } }, "is not a path"],
    [{ a: { path: "$.a", kind: "string", otherwise: "allow" } }, "`deny`, `tell`"],
  ])("refuses the arguments %j", async (args, named) => {
    const loading = cedarLayer({ policies: open, arguments: args as never });
    await expect(loading).rejects.toMatchObject({ code: "policy_invalid", message: expect.stringContaining(named) });
  });

  it("makes a decision of ours stricter, and never milder", async () => {
    const layer = await cedarLayer({
      policies: `${open} @id("x") forbid(principal, action, resource) when { principal.agent == "intern" };`,
    });
    const options: PolicyOptions = { rules: [{ effect: "deny", tool: "drop" }] };
    const policy = createPolicy({ ...options, also: [layer] });
    expect(policy.decide(facts()).verdict).toBe("ALLOW");
    const intern = facts({}, { principal: { tenant: "acme", agent: "intern" } });
    expect(policy.decide(intern)).toMatchObject({
      verdict: "DENY",
      reasons: expect.arrayContaining([{ rule: "cedar: forbidden by `x`", effect: "DENY" }]),
    });
    expect(policy.decide(facts({}, { tool: { ...send, tool: "drop" } })).verdict).toBe("DENY");
    expect(policy.version).not.toBe(createPolicy(options).version);
  });

  it("keeps two sets apart, each with its own version", async () => {
    const one = await cedarLayer({ policies: open });
    const other = await cedarLayer({ policies: "forbid(principal, action, resource);" });
    expect([one.weigh(facts()).length, other.weigh(facts()).length, one.weigh(facts()).length]).toEqual([0, 1, 0]);
    expect(one.version).not.toBe(other.version);
    expect((await cedarLayer({ policies: open })).version).toBe(one.version);
  });
});

describe("a policy as Cedar", () => {
  it("is loaded by the layer and says the same", async () => {
    const options: PolicyOptions = {
      default: "deny",
      rules: [
        { effect: "allow", tool: "mail__*", id: "team", arguments: { "$.to": { like: "*@acme.com" } } },
        { effect: "deny", principal: { user: "eve" } },
      ],
    };
    const exported = cedarFrom(options);
    const layer = await cedarLayer(exported);
    const said = (args: JsonObject): string => layer.weigh(facts(args))[0]?.why ?? "permitted";
    expect(said({ to: "ada@acme.com" })).toBe("permitted");
    expect(said({ to: "eve@evil.com" })).toBe("forbidden by `default: deny`");
    expect(said({})).toBe("forbidden by `default: deny`");
    expect(said({ to: 7 })).toBe("forbidden by `default: deny`");
    expect(exported.policies).toContain('@id("rule deny #2")');
  });

  it("names every rule that Cedar cannot say, and is refused", () => {
    const options: PolicyOptions = {
      mode: "observe",
      sandbox: [{ argument: "$.path", within: ["/work/**"] }],
      rules: [
        { effect: "deny", tool: "a", history: { within: "run", atMost: 1 }, where: "p.yaml:3" },
        { effect: "deny", id: "work", arguments: { "$.path": { path: "/work/**" } } },
        { effect: "allow", arguments: { "$.items[*]": { equals: 1 } } },
        { effect: "allow", arguments: { "$.amount": { atMost: 2.5 } } },
        { effect: "allow", arguments: { "$.amount": { equals: null } } },
        { effect: "allow", arguments: { "$.a.b": { present: true } } },
        { effect: "allow", arguments: { "$.a": { like: "x", ignoreCase: true } } },
        { effect: "allow", scope: "mail:*" },
        { effect: "allow", arguments: { "$.a": { oneOf: ["x", { b: 1 }] } } },
        { effect: "allow", arguments: { "$.a": { equals: [1] } } },
        { effect: "allow", tool: "fine" },
      ],
    };
    expect(() => cedarFrom(options)).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(
          /mode.*sandbox.*rule deny #1 \(p.yaml:3\): it looks at the past; rule deny #2 \(work\): `path` has.*#3.*#4.*#5.*#6.*#7.*#8.*#9: lists and objects as a whole.*#10/s,
        ),
      }),
    );
    expect(() => cedarFrom(options)).not.toThrow(/#11/);
    expect(() => cedarFrom({ also: [{ name: "x", version: "1", weigh: () => [] }] })).toThrow(/`also`/);
  });

  it("keeps names with quotes, backslashes and line breaks", async () => {
    const odd = 'a"b\\c\nd*';
    const layer = await cedarLayer(
      cedarFrom({ rules: [{ effect: "deny", principal: { agent: odd.replace("*", "") }, id: odd }] }),
    );
    const by = (agent: string): number => layer.weigh(facts({}, { principal: { tenant: "acme", agent } })).length;
    expect([by('a"b\\c\nd'), by("a"), by('a"b')]).toEqual([1, 0, 0]);
  });
});

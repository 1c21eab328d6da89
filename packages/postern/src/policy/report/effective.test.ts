import { describe, expect, it } from "vitest";
import { decide, decideFacts, principal, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Decision, EffectiveQuery, Facts, ToolFacts } from "../policy.ts";

describe("layers", () => {
  it("what the runtime denies, no configuration allows (case 145)", () => {
    const options: PolicyOptions = {
      runtime: [{ effect: "deny", tool: "mail", id: "frozen", reason: "moving house" }],
      rules: [{ effect: "allow", tool: "mail" }],
    };
    expect(decide(options, tool("mail"))).toMatchObject({
      verdict: "DENY",
      reasons: [{ rule: "runtime deny #1 (frozen): moving house", effect: "DENY" }],
    });
    expect(createPolicy(options).offers(principal, tool("mail"))).toBe(false);
  });

  it("what the runtime wants asked is asked, and the runtime grants nothing", () => {
    expect(decide({ runtime: [{ effect: "confirm" }] }, tool("mail")).verdict).toBe("CONFIRM");
    expect(decide({ runtime: [{ effect: "confirm" }], default: "deny" }, tool("mail")).verdict).toBe("DENY");
    expect(
      decide({ runtime: [{ effect: "confirm", tool: "drop" }] }, tool("drop", { effects: "destructive" })).verdict,
    ).toBe("DENY");
    expect(() => createPolicy({ runtime: [{ effect: "allow" }] })).toThrow(/runtime only denies or asks/);
  });

  it("a configuration enables a safe ability (case 146)", () => {
    expect(decide({ default: "deny" }, tool("mail")).verdict).toBe("DENY");
    expect(decide({ default: "deny", rules: [{ effect: "allow", tool: "mail" }] }, tool("mail")).verdict).toBe("ALLOW");
  });

  it("denies and reports a skill's request that is not enabled (case 147)", () => {
    const query: EffectiveQuery = {
      principal,
      skills: { names: ["writer"], allowedTools: ["write_file"] },
      requests: [{ skill: "writer", tools: ["write_file", "Bash(git:*)", "unheard_of"] }],
    };
    const report = createPolicy({ default: "deny" }).effective?.([tool("write_file")], query);
    expect(report?.lines).toEqual([
      {
        tool: "write_file",
        action: "default",
        risk: "safe",
        verdict: "DENY",
        by: { rule: "default: deny", effect: "DENY" },
        depends: [],
        requestedBy: ["writer"],
      },
    ]);
    expect(report?.unknownRequests).toEqual([{ skill: "writer", tool: "unheard_of" }]);
  });

  it("allows a skill's request that the configuration enables (case 148)", () => {
    const options: PolicyOptions = { default: "deny", rules: [{ effect: "allow", tool: "write_file" }] };
    const skills = { names: ["writer"], allowedTools: ["write_*"] };
    expect(decide(options, tool("write_file"), { skills }).verdict).toBe("ALLOW");
  });

  it("an active skill restricts to its tools; the way to skills stays open, for our own alone", () => {
    const skills = { names: ["writer", "poet"], allowedTools: ["write_file"] };
    expect(decide({}, tool("mail"), { skills })).toMatchObject({
      verdict: "DENY",
      reasons: [{ rule: "skill `writer`, `poet`: `mail` is not among the allowed tools", effect: "DENY" }],
    });
    for (const name of ["list_skills", "load_skill", "skills"])
      expect(decide({}, tool(name), { skills }).verdict).toBe("ALLOW");
    expect(decide({}, tool("tool_search"), { skills }).verdict).toBe("DENY");
    expect(decide({}, tool("list_skills", { server: "stranger" }), { skills }).verdict).toBe("DENY");
    expect(decide({}, tool("mail"), { skills: { names: ["poet"], allowedTools: undefined } }).verdict).toBe("ALLOW");
    expect(decide({}, tool("mail"), { skills: { names: [], allowedTools: [] } }).verdict).toBe("DENY");
  });

  it("an active skill counts from the call it is active in to the last one, and not beyond", () => {
    const policy = createPolicy();
    const asked: Facts = { ...decideFacts(), tool: tool("mail") };
    const skills = { names: ["writer"], allowedTools: ["write_file"] };
    const verdicts = [undefined, skills, undefined, { ...skills, allowedTools: ["mail"] }, skills];
    expect(verdicts.map((active) => policy.decide({ ...asked, skills: active }).verdict)).toEqual([
      "ALLOW",
      "DENY",
      "ALLOW",
      "ALLOW",
      "DENY",
    ]);
  });

  it("a path outside the sandbox is denied, whatever the configuration allows (case 149)", () => {
    const options: PolicyOptions = {
      sandbox: [{ tool: "write_*", argument: "$.path", within: ["/work/**"], relativeTo: "/work" }],
      rules: [{ effect: "allow", tool: "write_file", arguments: { "$.path": { path: "/etc/**" } } }],
    };
    const write = (path: string | number | undefined): Decision["verdict"] =>
      decide(options, tool("write_file"), { arguments: path === undefined ? {} : { path } }).verdict;
    expect(["/work/a", "notes/a", undefined].map(write)).toEqual(["ALLOW", "ALLOW", "ALLOW"]);
    expect(["/etc/passwd", "/work/../etc/passwd", "../etc", "~/a", 7].map(write)).toEqual(Array(5).fill("DENY"));
    expect(decide(options, tool("write_file"), { arguments: { path: "/etc/a" } }).reasons).toEqual([
      { rule: "sandbox deny #1: `$.path` must lie within /work/**", effect: "DENY" },
    ]);
    expect(decide(options, tool("read_file"), { arguments: { path: "/etc/a" } }).verdict).toBe("ALLOW");
  });

  it("a sandbox looks at each path of a list, and can leave reading alone", () => {
    const options: PolicyOptions = {
      sandbox: [{ argument: "$.paths[*]", within: ["/work/**"], effects: ["write", "destructive"] }],
    };
    const verdict = (paths: readonly string[] | undefined, more: Partial<ToolFacts> = {}): string =>
      decide(options, tool("copy", more), { arguments: paths === undefined ? {} : { paths } }).verdict;
    expect([verdict(["/work/a", "/work/b"]), verdict([]), verdict(undefined)]).toEqual(["ALLOW", "ALLOW", "ALLOW"]);
    expect(verdict(["/work/a", "/etc/b"])).toBe("DENY");
    expect(verdict(["/etc/b"], { effects: "read" })).toBe("ALLOW");
    expect(() => createPolicy({ sandbox: [{ argument: "$.path", within: [], inside: 1 } as never] })).toThrow(
      /`inside`/,
    );
  });

  it("denies a destructive tool without its own rule; asks with one (case 150)", () => {
    const destructive = tool("drop", { effects: "destructive" });
    expect(decide({}, destructive).verdict).toBe("DENY");
    expect(decide({ rules: [{ effect: "allow" }, { effect: "allow", tool: "dr*" }] }, destructive).verdict).toBe(
      "DENY",
    );
    const enabled: PolicyOptions = { rules: [{ effect: "allow", tool: "drop" }] };
    expect(decide(enabled, destructive)).toMatchObject({
      verdict: "CONFIRM",
      reasons: expect.arrayContaining([{ rule: "default: destructive asks", effect: "CONFIRM" }]),
    });
    expect(decide({ ...enabled, maxRiskUnapproved: "high" }, destructive).verdict).toBe("CONFIRM");
    expect(decide(enabled, destructive, { autonomy: "A3" }).verdict).toBe("ALLOW");
  });

  it("destructive is not enabled by a line whose condition does not hold", () => {
    const options: PolicyOptions = {
      rules: [{ effect: "allow", tool: "drop", arguments: { "$.table": { like: "tmp_*" } } }],
    };
    const destructive = tool("drop", { effects: "destructive" });
    expect(decide(options, destructive, { arguments: { table: "tmp_a" } }).verdict).toBe("CONFIRM");
    expect(decide(options, destructive, { arguments: { table: "users" } }).reasons).toEqual([
      { rule: "adjuster destructive: its effects", effect: "RAISE" },
      { rule: "default: destructive needs a rule that names `drop`", effect: "DENY" },
      { rule: "rule allow #1 does not hold for this call", effect: "DENY" },
    ]);
  });

  it("a shell is off until a rule names it (case 151)", () => {
    const shell = tool("run", { permissions: ["shell"], risk: "high" });
    expect(decide({ rules: [{ effect: "allow", tool: "*" }] }, shell)).toMatchObject({
      verdict: "DENY",
      reasons: expect.arrayContaining([{ rule: "default: shell needs a rule that names `run`", effect: "DENY" }]),
    });
    expect(decide({ rules: [{ effect: "allow", tool: "run" }] }, shell).verdict).toBe("CONFIRM");
    expect(decide({}, tool("run", { permissions: ["shell:git"] })).verdict).toBe("DENY");
  });
});

describe("rules on risk, scope and effects", () => {
  it("deny and confirm from a risk on, allow up to it, by the risk of this call", () => {
    const rules: PolicyOptions = { rules: [{ effect: "deny", risk: "high" }] };
    expect(decide(rules, tool("mail", { risk: "medium" }), { autonomy: "A4" }).verdict).toBe("ALLOW");
    for (const risk of ["high", "critical"] as const)
      expect(decide(rules, tool("mail", { risk })).verdict).toBe("DENY");
    expect(decide(rules, tool("mail"), { suggestion: { risk: "critical" } }).verdict).toBe("DENY");
    const allow: PolicyOptions = { default: "deny", rules: [{ effect: "allow", risk: "medium" }] };
    expect(decide(allow, tool("mail", { risk: "medium" }), { autonomy: "A4" }).verdict).toBe("ALLOW");
    expect(decide(allow, tool("mail", { risk: "medium" }), { suggestion: { risk: "high" } }).verdict).toBe("DENY");
  });

  it("by a scope the tool needs, and by what it does", () => {
    const rules: PolicyOptions = {
      rules: [
        { effect: "deny", scope: "mail:*" },
        { effect: "confirm", effects: ["write"] },
      ],
    };
    expect(decide(rules, tool("send", { scopes: ["log", "mail:write"] })).verdict).toBe("DENY");
    expect(decide(rules, tool("send", { scopes: ["log"] })).verdict).toBe("CONFIRM");
    expect(decide(rules, tool("look", { effects: "read" })).verdict).toBe("ALLOW");
  });

  it.each([
    [{ risk: "none" }, '`"none"`'],
    [{ effects: "delete" }, "`rules[0].effects`"],
    [{ effects: ["read", "look"] }, "`rules[0].effects`"],
    [{ scope: "" }, "`rules[0].scope`"],
    [{ arguments: [] }, "not an object"],
  ])("refuse %j", (fields, named) => {
    expect(() => createPolicy({ rules: [{ effect: "deny", ...(fields as object) }] })).toThrow(
      expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(named) }),
    );
  });
});

describe("the effective policy", () => {
  const options: PolicyOptions = {
    rules: [
      { effect: "deny", tool: "mail", action: "purge", id: "keep", where: "p.yaml:3" },
      {
        effect: "confirm",
        tool: "mail",
        action: "send",
        arguments: { "$.to": { not: { like: "*@acme.com" } } },
        where: "p.yaml:5",
      },
      { effect: "deny", risk: "critical", where: "p.yaml:9" },
    ],
    runtime: [{ effect: "deny", tool: "shell" }],
  };
  const tools = [
    tool("shell"),
    tool("mail", { action: "send", risk: "high" }),
    tool("mail", { action: "purge" }),
    tool("drop", { effects: "destructive", riskSource: "operator" }),
  ];

  it("shows each action's verdict, deciding rule, line and dependencies (case 152)", () => {
    const policy = createPolicy(options);
    const report = policy.effective?.(tools, { principal, autonomy: "A2" });
    expect(report?.version).toBe(policy.version);
    expect(report?.lines.map(({ tool, action, verdict, by }) => [tool, action, verdict, by])).toEqual([
      ["drop", "default", "DENY", { rule: "default: destructive needs a rule that names `drop`", effect: "DENY" }],
      ["mail", "purge", "DENY", { rule: "rule deny #1 (keep)", effect: "DENY", where: "p.yaml:3" }],
      ["mail", "send", "CONFIRM", { rule: "matrix A2/high", effect: "CONFIRM" }],
      ["shell", "default", "DENY", { rule: "runtime deny #1", effect: "DENY" }],
    ]);
    const send = report?.lines.find(({ action }) => action === "send");
    expect(send?.depends.map(({ where }) => where)).toEqual(["p.yaml:5", "p.yaml:9"]);
    expect(createPolicy(options).effective?.(tools.toReversed(), { principal, autonomy: "A2" })).toEqual(report);
  });

  it("is that of one principal, with its scopes if they are stated", () => {
    const policy = createPolicy({ rules: [{ effect: "deny", principal: { agent: "intern" } }] });
    const scoped = [tool("mail", { scopes: ["mail:write"] })];
    const verdict = (query: EffectiveQuery): unknown => policy.effective?.(scoped, query).lines[0]?.by.rule;
    expect(verdict({ principal: { ...principal, agent: "intern" } })).toBe("rule deny #1");
    expect(verdict({ principal, scopes: [] })).toBe("scope mail:write missing");
    expect(verdict({ principal })).toBe("default: allow");
  });

  it("lists layers from outside as dependencies without running them", () => {
    const layer = {
      name: "cedar",
      version: "1",
      weigh: () => {
        throw new Error("not asked");
      },
    };
    const report = createPolicy({ also: [layer] }).effective?.([tool("mail")], { principal });
    expect(report?.lines[0]).toMatchObject({ verdict: "ALLOW", depends: [{ rule: "layer cedar", effect: "DENY" }] });
  });
});

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
afterAll(() => cli[Symbol.dispose]());
const data = cli.dataFolder("data");
const policy = (...words: readonly string[]) => cli.run("policy", ...words, "--data", data);
const write = (name: string, lines: readonly string[]) => writeFileSync(join(cli.folder, name), lines.join("\n"));

const head = ["tools:", "  modules: [./tools.ts]", "listen: { port: 0 }"];

beforeAll(async () => {
  write("postern.yaml", [
    ...head,
    "policy:",
    "  rules:",
    "    - { id: careful, effect: deny, tool: send, arguments: { $.text: { like: '*!*' } } }",
    "    - { effect: deny, tool: slow, reason: nobody waits }",
    "  tests:",
    "    - { name: no shouting, call: { tool: send, arguments: { text: hi! } }, expect: DENY, rule: careful }",
  ]);
  await cli.run("call", "echo", "text=hi", "--data", data);
});

describe("postern policy", () => {
  it("show: each tool, what it meets, the rule with its line, and what could change it", async () => {
    const { code, out, err } = await policy("show");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^echo +safe +runs +default: allow$/m);
    expect(out).toMatch(/^slow +safe +denied +rule deny #2: nobody waits \(postern\.yaml:7\)$/m);
    expect(out).toMatch(
      /^send +high +depends +asks by matrix A2\/high\n +may change by rule deny #1 \(careful\) \(postern\.yaml:6\)$/m,
    );
    expect(out).toMatch(/\n5 run, 1 blocked, 1 denied, 1 depend on the arguments or on earlier calls\n$/);
    const some = await policy("show", "s*", "--autonomy", "a0", "--json");
    expect(JSON.parse(some.out).lines).toMatchObject([
      { tool: "send", verdict: "PREVIEW" },
      { tool: "slow", verdict: "DENY", by: { where: "postern.yaml:7" } },
    ]);
    expect(await policy("show", "sned")).toMatchObject({ code: 2, err: "postern: No tool is called `sned`.\n" });
    expect(await policy("show", "--autonomy", "A9")).toMatchObject({ code: 2 });
  });

  it("show and the table of tools say that it depends where a rule lets some calls through", async () => {
    const rule = "    - { id: greet, effect: confirm, tool: echo, arguments: { $.text: { like: 'h*' } } }";
    write("strict.yaml", [...head, "policy:", "  default: deny", "  rules:", rule]);
    const strict = ["--config", join(cli.folder, "strict.yaml"), "--data", data];
    expect((await cli.run("policy", "show", ...strict)).out).toMatch(
      /^echo +safe +depends +denied by default: deny\n +may change by .*greet/m,
    );
    const { out } = await cli.run("tools", ...strict);
    expect(out).toMatch(/^echo +safe +depends /m);
    expect(out).not.toContain("runs");
    expect((await cli.run("tools", "echo", ...strict)).out).toMatch(/^ +now +depends/m);
  });

  it("explain: the verdict of one call and every rule that shaped it, for any caller", async () => {
    const denied = await policy("explain", "send", "text=hi!");
    expect(denied.code).toBe(0);
    expect(denied.out).toMatch(
      /^send {3}DENY {3}risk high\n {2}→ DENY {5}rule deny #1 \(careful\) \(postern\.yaml:6\)\n/,
    );
    const asked = await policy("explain", "send", "text=hi", "--agent", "ann", "--user", "eve", "--json");
    expect(JSON.parse(asked.out)).toMatchObject({ reached: "verdict", decision: { verdict: "CONFIRM" } });
    expect(await policy("explain", "sned")).toMatchObject({ code: 1, out: expect.stringContaining("tool_unknown") });
  });

  it("test: the expectations beside the policy and in tables, as it lies on the disk; 1 when one does not hold", async () => {
    expect(await policy("test")).toMatchObject({ code: 0, out: "ok    DENY    no shouting\n\nIt holds.\n" });
    write("more.policy-tests.yaml", [
      "tests:",
      "  - name: whispering",
      "    call: { tool: send, arguments: { text: hi } }",
      "    expect: ALLOW",
    ]);
    const failed = await policy("test");
    expect(failed.code).toBe(1);
    expect(failed.out).toContain("fail  ALLOW   whispering (more.policy-tests.yaml:2)\n");
    expect(failed.out).toContain("The verdict is CONFIRM, not ALLOW.\n");
    expect(failed.out).toContain("→ CONFIRM  matrix A2/high\n");
    expect(failed.out).toContain("1 of 2 do not hold.");
    write("broken.policy-tests.yaml", ["tests:", "  - { name: x, call: { tool: send }, expects: DENY }"]);
    const broken = await policy("test", "broken.policy-tests.yaml");
    expect(broken.code).toBe(1);
    expect(broken.err).toContain("broken.policy-tests.yaml:2:");
    expect(await policy("test", "none.yaml")).toMatchObject({ code: 2, err: expect.stringContaining("none.yaml") });
  });

  it("simulate: which verdicts of the recorded calls an edited policy changes, with both reasons", async () => {
    write("edited.yaml", ["policy:", "  rules:", "    - { effect: deny, tool: echo, reason: too loud }"]);
    const { code, out } = await policy("simulate", "--policy", "edited.yaml");
    expect(code).toBe(0);
    expect(out).toMatch(/^echo {3}ALLOW → DENY\n/);
    expect(out).toContain('{"text":"hi"}\n  before  default: allow\n');
    expect(out).toContain("after   rule deny #1: too loud (edited.yaml:3)\n");
    expect(out).toContain("1 verdict changes in 1 call.\nArguments are as stored: redacted.");
    const same = await policy("simulate", "--last", "5", "--tool", "echo", "--json");
    expect(JSON.parse(same.out)).toMatchObject({ replayed: 1, changes: [] });
    expect(await policy("simulate", "--last", "0")).toMatchObject({ code: 2 });
    expect(await policy("simulate", "--policy", "none.yaml")).toMatchObject({
      code: 2,
      err: expect.stringContaining("none.yaml"),
    });
  });

  it("warnings: rules that cannot be meant, and doctor shows them too", async () => {
    expect(await policy("warnings")).toMatchObject({ code: 0, out: "No warnings.\n" });
    const folder = join(cli.folder, "warned");
    mkdirSync(folder);
    writeFileSync(
      join(folder, "postern.yaml"),
      [...head, "policy:", "  rules:", "    - { effect: deny, tool: sned }"].join("\n").replace("./tools", "../tools"),
    );
    const warned = await cli.runIn(folder, "policy", "warnings");
    expect(warned.code).toBe(1);
    expect(warned.out.replaceAll(/\s+/g, " ")).toBe(
      "warn The rule deny #1 matches no tool that is registered, so it denies nothing; did you mean `send`? (postern.yaml:6) [matches_no_tool] ",
    );
    const doctor = await cli.runIn(folder, "doctor");
    expect(doctor).toMatchObject({ code: 0 });
    expect(doctor.out).toMatch(/^warn {2}names +postern\.yaml:6: The rule deny #1 matches no tool/m);
  });
});

describe("postern policy on a Postern that runs", () => {
  it("holds the edited file against the policy in force, and explains by the one in force", async () => {
    const folder = join(cli.folder, "running");
    mkdirSync(folder);
    const file = (rules: string) =>
      writeFileSync(
        join(folder, "postern.yaml"),
        [...head, `policy: { rules: [${rules}] }`].join("\n").replace("./tools", "../tools"),
      );
    file("");
    const { child, end } = cli.open(["start", "--data", "data"], folder);
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on("data", (chunk: Buffer) => chunk.toString().includes("Try next") && resolve());
      void end.then(({ err }) => reject(new Error(err)));
    });
    try {
      await cli.runIn(folder, "call", "echo", "text=hi", "--data", "data");
      file("{ effect: deny, tool: echo }");
      const simulated = await cli.runIn(folder, "policy", "simulate", "--data", "data");
      expect(simulated.out).toMatch(/^echo {3}ALLOW → DENY\n/);
      expect((await cli.runIn(folder, "policy", "explain", "echo", "text=hi", "--data", "data")).out).toMatch(
        /^echo {3}ALLOW/,
      );
    } finally {
      child.kill();
      await end;
    }
  });
});

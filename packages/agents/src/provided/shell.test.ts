import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { agent, providedFixture } from "../../../../test/fakes/provided-fixture.ts";
import { openAgentTools } from "../agent-tools.ts";
import { anthropicResult, anthropicTools, anthropicToolUses } from "../anthropic.ts";
import { openaiResult, openaiTools, openaiToolUses } from "../openai.ts";
import { shellTool } from "./shell.ts";

const here = existsSync("/usr/bin/bwrap");
if (!here) console.warn("SKIPPED: the shell tool: this machine lacks `bwrap`");

it.skipIf(!here)("keeps the folder and exported variables of bash until it is restarted", async () => {
  await using house = await providedFixture(shellTool);
  await using tools = openAgentTools(house.runtime, agent);
  expect(anthropicTools(tools.list())).toEqual([{ type: "bash_20250124", name: "bash" }]);
  const inputs = [
    { command: `mkdir -p d && cd d && export x="it's \xe9\n" && y=1 && f() { echo f; }; shopt -s nullglob; alias a=f` },
    { command: "pwd; printf %s \"$x$y\"; type -t f a; sh -c 'echo $x'; printf %s *.none" },
    { command: "leave() { export z=2; exit 3; }; leave" },
    { command: "echo $z $OLDPWD >&2; cd /workspace" },
    { restart: true },
    { command: "pwd; echo [$x]" },
  ];
  const uses = anthropicToolUses(inputs.map((input, i) => ({ type: "tool_use", id: `t${i}`, name: "bash", input })));
  const answers = await tools.callAll(uses);
  const results = uses.map((use, i) => anthropicResult(use, answers[i] as (typeof answers)[number]));
  expect(results.map(({ content }) => content)).toEqual([
    "[exit code 0]",
    "/workspace/d\nit's \xe9\nit's \xe9\n*.none",
    "[exit code 3]",
    "2 /workspace",
    "A new session has begun.",
    "/workspace\n[]",
  ]);
});

it.skipIf(!here)("keeps a session to its run", async () => {
  await using house = await providedFixture(shellTool);
  const say = async (command: string, runId = "run_1"): Promise<string> =>
    (await house.runtime.invoke({ tool: "bash", arguments: { command } }, { ...agent, runId })).text;
  await say("export x=mine");
  expect(await say("echo $x")).toBe("mine");
  expect(await say("echo [$x]", "run_2")).toBe("[]");
});

it.skipIf(!here)("answers OpenAI's shell with each command's output", async () => {
  await using house = await providedFixture(shellTool);
  await using tools = openAgentTools(house.runtime, agent);
  expect(openaiTools(tools.list())).toEqual([{ type: "shell", environment: { type: "local" } }]);
  const action = {
    commands: ["x=1; echo out; echo err >&2; exit 2", "echo [$x]", "sleep 60", "echo never"],
    ...{ timeout_ms: 2_000, max_output_length: 1_000 },
  };
  const [use] = openaiToolUses([{ type: "shell_call", id: "sh", call_id: "c", status: "completed", action }]);
  if (use === undefined) throw new Error("the call was not read");
  expect(openaiResult(use, await tools.call(use))).toEqual([
    {
      ...{ type: "shell_call_output", call_id: "c", max_output_length: 1_000 },
      output: [
        { stdout: "out\n", stderr: "err\n", outcome: { type: "exit", exit_code: 2 } },
        { stdout: "[]\n", stderr: "", outcome: { type: "exit", exit_code: 0 } },
        { stdout: "", stderr: "", outcome: { type: "timeout" } },
      ],
    },
  ]);
});

it.skipIf(!here)("answers OpenAI's local shell by the item's id", async () => {
  await using house = await providedFixture((options) => shellTool({ ...options, declare: "local_shell" }));
  await using tools = openAgentTools(house.runtime, agent);
  expect(openaiTools(tools.list())).toEqual([{ type: "local_shell" }]);
  const command = ["sh", "-c", 'echo "$0:$A:$PWD"', "it's; echo no"];
  const action = { type: "exec", command, env: { A: "'$HOME" }, working_directory: "/tmp" };
  const item = { type: "local_shell_call", id: "lsh", call_id: "c", status: "completed" };
  const uses = openaiToolUses([
    { ...item, action },
    { ...item, id: "two", call_id: "d", action: { ...action, user: "root" } },
    { ...item, id: "three", call_id: "e", action: { ...action, env: { "A; echo": "" } } },
  ]);
  const answers = await tools.callAll(uses);
  const outputs = uses.flatMap((use, i) => openaiResult(use, answers[i] as (typeof answers)[number]));
  expect(outputs).toMatchObject([{ type: "local_shell_call_output", id: "lsh" }, { id: "two" }, { id: "three" }]);
  expect(outputs.map((one) => JSON.parse("output" in one ? String(one.output) : "") as unknown)).toEqual([
    { stdout: "it's; echo no:'$HOME:/tmp\n", stderr: "", outcome: { type: "exit", exit_code: 0 } },
    { stdout: "", stderr: expect.stringContaining("not as `root`"), outcome: { type: "exit", exit_code: 1 } },
    { stdout: "", stderr: expect.stringContaining("with the name `A; echo`"), outcome: { type: "exit", exit_code: 1 } },
  ]);
});

it.skipIf(!here)("is off until a rule names it, and asks a person even then", async () => {
  await using off = await providedFixture(shellTool, { policy: { rules: [{ effect: "allow", tool: "*" }] } });
  expect(await off.call("bash", { command: "true" })).toMatchObject({
    ...{ status: "denied", refusal: { message: expect.stringContaining("needs a rule that names `shell`") } },
  });
  await using house = await providedFixture(shellTool, { approvals: { patience: "suspend" } });
  expect(await house.call("bash", { command: "true" })).toMatchObject({ status: "pending" });
});

it.skipIf(!here).each([
  ["a root that is read-only", { roots: { docs: { path: "docs" } }, root: "docs" }, "read-only"],
  ["a root that is none", { root: "nowhere" }, "is none of its roots"],
  ["no whole number", { timeoutMs: 0.5 }, "`timeoutMs` is `0.5`"],
])("refuses %s", async (_, more, why) => {
  await expect(providedFixture((options) => shellTool({ ...options, ...more }))).rejects.toThrow(why);
});

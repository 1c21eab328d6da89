import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Runtime } from "../../postern/src/runtime/api/api.ts";
import { createRuntime } from "../../postern/src/runtime/create.ts";
import type { LocalTool } from "../../postern/src/tools/kinds.ts";
import { Toolbox } from "../../postern/src/tools/toolbox.ts";
import { createAgent } from "./loop.ts";
import { type AgentModel, scriptedModel } from "./model.ts";

const sends = (to: string): { name: string; arguments: object } => ({ name: "send", arguments: { to } });

function sender(sent: string[], risk: "safe" | "high" = "safe"): LocalTool {
  return {
    ...{ name: "send", description: "Sends.", risk, effects: "write", idempotent: false },
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
    execute: (input) => {
      sent.push((input as { to: string }).to);
      return "sent";
    },
  };
}

async function opened(store = "memory"): Promise<Runtime> {
  return createRuntime({ store, approvals: { patience: "suspend" } });
}

it("runs what the model asks for and ends with its last text", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const model = scriptedModel([{ uses: [sends("ada"), sends("bob")] }, { text: "Both were told." }]);
  const agent = createAgent({ runtime, model, tools: [sender(sent)] });
  const result = await agent.run({ prompt: "Tell both." });
  expect(result).toMatchObject({ status: "done", text: "Both were told.", steps: 2 });
  expect(sent).toEqual(["ada", "bob"]);
});

it("goes on after a restart with a call that a person approved, and runs it once", async () => {
  const store = `sqlite:${join(await mkdtemp(join(tmpdir(), "loop-")), "postern.db")}`;
  const sent: string[] = [];
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Sent." }]);
  const first = await opened(store);
  const waiting = await createAgent({ runtime: first, model, tools: [sender(sent, "high")] }).run({
    prompt: "Go.",
    runId: "r1",
  });
  expect(waiting).toMatchObject({ status: "waiting", runId: "r1" });
  await first.close();

  await using second = await opened(store);
  const agent = createAgent({ runtime: second, model, tools: [sender(sent, "high")] });
  expect(await agent.resume("r1")).toMatchObject({ status: "waiting" });
  const [request] = await second.approvals.list({ state: "pending" });
  await second.approvals.decide(request?.id ?? "", { decision: "approved", by: { user: "grace" } });
  expect(await agent.resume("r1")).toMatchObject({ status: "done", text: "Sent." });
  expect(await agent.resume("r1")).toMatchObject({ status: "done" });
  expect(sent).toEqual(["ada"]);
});

it("tells the model what a person denied", async () => {
  await using runtime = await opened();
  const read: string[] = [];
  const script = scriptedModel([{ uses: [sends("ada")] }, { text: "They said no." }]);
  const model: AgentModel = {
    ...script,
    generate: (request) => {
      for (const message of request.messages)
        if (message.role === "tool") read.push(...message.answers.map(({ text }) => text));
      return script.generate(request);
    },
  };
  const agent = createAgent({ runtime, model, tools: [sender([], "high")] });
  const { runId } = await agent.run({ prompt: "Go." });
  const [request] = await runtime.approvals.list();
  await runtime.approvals.decide(request?.id ?? "", { decision: "denied", by: { user: "grace" }, reason: "not today" });
  expect(await agent.resume(runId)).toMatchObject({ status: "done", text: "They said no." });
  expect(read.join()).toContain("not today");
});

it("ends a run whose model repeats a refused call, and says so", async () => {
  await using runtime = await opened();
  const model = scriptedModel(
    Array.from({ length: 1000 }, () => ({ uses: [{ name: "no_such_tool", arguments: {} }] })),
  );
  const result = await createAgent({ runtime, model, maxSteps: 1000 }).run({ prompt: "Go." });
  expect(result).toMatchObject({ status: "stopped", reason: "repeated_refusals", steps: 5 });
});

it("stops at its limit of turns", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const model = scriptedModel(Array.from({ length: 9 }, (_, i) => ({ uses: [sends(`p${i}`)] })));
  const result = await createAgent({ runtime, model, tools: [sender(sent)], maxSteps: 3 }).run({ prompt: "Go." });
  expect(result).toMatchObject({ status: "stopped", reason: "max_steps", steps: 3 });
  expect(sent).toHaveLength(3);
});

it("answers malformed arguments and goes on", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const bad = ['{"to":', "[1]", '{"to":1}', '"text"', '{"to":"a","to":"b"}'].map((text) => ({
    name: "send",
    arguments: text,
  }));
  const model = scriptedModel([
    { uses: bad },
    { uses: [{ name: "send", arguments: '{"to":"ada"}' }] },
    { text: "Done." },
  ]);
  const result = await createAgent({ runtime, model, tools: [sender(sent)] }).run({ prompt: "Go." });
  expect(result).toMatchObject({ status: "done" });
  expect(sent).toEqual(["ada"]);
});

it("runs a call whose id comes twice in one turn once", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const twice = { id: "same", ...sends("ada") };
  const model = scriptedModel([{ uses: [twice, twice] }, { text: "Done." }]);
  await createAgent({ runtime, model, tools: [sender(sent)] }).run({ prompt: "Go." });
  expect(sent).toEqual(["ada"]);
});

it("shares a toolbox: both agents see a tool that is added later", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const box = new Toolbox();
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Done." }]);
  const agents = [1, 2].map((i) => createAgent({ runtime, model, name: `agent${i}`, tools: box }));
  box.add(sender(sent));
  for (const agent of agents) await agent.run({ prompt: "Go." });
  expect(agents.map(({ toolbox }) => toolbox)).toEqual([box, box]);
  expect(sent).toEqual(["ada", "ada"]);
});

it("asks a person from its own risk level on", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Done." }]);
  const of = (approvalRequiredRisk: "high" | "critical", tool: LocalTool) =>
    createAgent({ runtime, model, tools: [tool], approvalRequiredRisk }).run({ prompt: "Go." });
  const tool = sender(sent, "high");
  expect((await of("high", tool)).status).toBe("waiting");
});

it("takes the next prompt of a run that is done, and refuses one of a run that is not", async () => {
  await using runtime = await opened();
  const model = scriptedModel([{ text: "One." }, { text: "Two." }]);
  const agent = createAgent({ runtime, model });
  await agent.run({ prompt: "First.", runId: "chat" });
  expect(await agent.run({ prompt: "Second.", runId: "chat" })).toMatchObject({ text: "Two." });
  const stuck = createAgent({ runtime, model: scriptedModel([{ uses: [sends("x")] }]), tools: [sender([], "high")] });
  await stuck.run({ prompt: "Go.", runId: "held" });
  await expect(stuck.run({ prompt: "Again.", runId: "held" })).rejects.toThrow("is not done");
});

it("calls the hooks of a run in order and survives one that throws", async () => {
  await using runtime = await opened();
  const seen: string[] = [];
  const note = (name: string) => () => void seen.push(name);
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Done." }]);
  await createAgent({
    ...{ runtime, model, tools: [sender([])] },
    hooks: {
      ...{
        runStart: note("runStart"),
        stepStart: note("stepStart"),
        llmStart: note("llmStart"),
        llmEnd: note("llmEnd"),
      },
      stepEnd: () => {
        seen.push("stepEnd");
        throw new Error("broken hook");
      },
      runEnd: note("runEnd"),
    },
  }).run({ prompt: "Go." });
  expect(seen).toEqual([
    "runStart",
    "stepStart",
    "llmStart",
    "llmEnd",
    "stepEnd",
    "stepStart",
    "llmStart",
    "llmEnd",
    "stepEnd",
    "runEnd",
  ]);
});

it("tells the hooks of a model that failed, and of a run that was cancelled", async () => {
  await using runtime = await opened();
  const seen: unknown[] = [];
  const hooks = { llmEnd: (info: object) => void seen.push(info), runEnd: (info: object) => void seen.push(info) };
  await createAgent({ runtime, model: scriptedModel([]), hooks }).run({ prompt: "Go." });
  const given = { runtime, model: scriptedModel([]), hooks };
  const cancelled = createAgent(given).run({ prompt: "Go." }, { signal: AbortSignal.abort(new Error("enough")) });
  await expect(cancelled).rejects.toThrow("enough");
  expect(seen).toMatchObject([{ failed: true }, { status: "stopped" }, { failed: true }, { status: "failed" }]);
});

it("tells the hooks of a guardrail that found something, and of an agent that a tool starts", async () => {
  const guardrail = {
    ...{ name: "codenames", on: "result" as const },
    check: () => [{ effect: "MARK" as const, why: "a code name" }],
  };
  await using runtime = await createRuntime({ guardrails: [guardrail] });
  const seen: unknown[] = [];
  const helper = createAgent({ runtime, name: "helper", model: scriptedModel([{ text: "osprey" }]) });
  runtime.tools.register({
    ...{ name: "ask_helper", description: "Asks.", risk: "safe", effects: "read", idempotent: true },
    inputSchema: { type: "object" },
    execute: async () => (await helper.run({ prompt: "Which bird?" })).text,
  });
  await createAgent({
    ...{ runtime, name: "boss", model: scriptedModel([{ uses: [{ name: "ask_helper" }] }, { text: "Done." }]) },
    hooks: {
      guardrailTrip: ({ agent, toolName }) => void seen.push({ agent, toolName }),
      handoff: ({ agent, to }) => void seen.push({ agent, to }),
    },
  }).run({ prompt: "Go." });
  expect(seen).toEqual([
    { agent: "boss", to: "helper" },
    { agent: "boss", toolName: "ask_helper" },
  ]);
});

it("tells the hook of a guardrail that refuses arguments", async () => {
  const guardrail = {
    ...{ name: "codenames", on: "arguments" as const },
    check: () => [{ effect: "DENY" as const, why: "a code name" }],
  };
  await using runtime = await createRuntime({ guardrails: [guardrail] });
  const seen: string[] = [];
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Done." }]);
  const hooks = { guardrailTrip: ({ toolName }: { toolName: string }) => seen.push(toolName) };
  await createAgent({ runtime, model, tools: [sender([])], hooks }).run({ prompt: "Go." });
  expect(seen).toEqual(["send"]);
});

it("takes a hook that returns a value for one that works", async () => {
  await using runtime = await opened();
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.message);
  await new Promise((resolve) => setImmediate(resolve)); // those of other tests are over
  process.on("warning", warned);
  const seen: unknown[] = [];
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Done." }]);
  const hooks = { stepEnd: (end: object) => seen.push(end) };
  await createAgent({ runtime, model, tools: [sender([])], hooks }).run({ prompt: "Go." });
  await new Promise((resolve) => setImmediate(resolve)); // warnings are events of the next turn
  process.off("warning", warned);
  expect(seen).toHaveLength(2);
  expect(warnings).toEqual([]);
});

it("makes two calls of a provider that gives both turns the same call id", async () => {
  await using runtime = await opened();
  const sent: string[] = [];
  const same = { uses: [{ ...sends("ada"), id: "call_0" }] };
  const model = scriptedModel([same, same, { text: "Done." }]);
  await createAgent({ runtime, model, tools: [sender(sent)] }).run({ prompt: "Twice." });
  expect(sent).toEqual(["ada", "ada"]);
});

it("keeps prompt, effective system prompt and transcript in the folder of the run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "loop-"));
  await using runtime = await createRuntime({ archive: { folder: join(folder, "runs") } });
  const model = scriptedModel([{ uses: [sends("ada")] }, { text: "Ada knows." }]);
  await createAgent({ runtime, model, tools: [sender([])], instructions: "Be kind." }).run({
    ...{ prompt: "Tell Ada.", runId: "r1" },
  });
  await runtime.runs?.flush();
  const run = (await readdir(join(folder, "runs"))).find((name) => !name.startsWith(".")) ?? "";
  const read = (file: string): Promise<string> => readFile(join(folder, "runs", run, file), "utf8");
  expect(await read("prompt.md")).toContain("Tell Ada.");
  expect(await read("effective-system-prompt.md")).toContain("Be kind.");
  expect(await read("transcript.md")).toMatch(
    /## user\n\nTell Ada\..*calls `send` \{"to":"ada"\}.*## tool `send`\n\nsent.*Ada knows\./s,
  );
});

it("tells the model of a deferred tool once it was found, and lists all, some and none (cases 263, 264)", async () => {
  await using runtime = await opened();
  const shown: string[][] = [];
  const search = (query: string, format?: string) => ({
    name: "tool_search",
    arguments: { query, ...(format && { format }) },
  });
  const script = scriptedModel([
    { uses: [search(""), search("SEND"), search("nothing like it"), search("sends.", "schema")] },
    { uses: [sends("ada")] },
    { text: "Done." },
  ]);
  const read: string[] = [];
  const model: AgentModel = {
    ...script,
    generate: (request) => {
      shown.push(request.tools.map(({ name }) => name));
      for (const message of request.messages.slice(-1))
        if (message.role === "tool") read.push(...message.answers.map(({ text }) => text));
      return script.generate(request);
    },
  };
  const sent: string[] = [];
  await createAgent({ runtime, model, tools: [{ ...sender(sent), deferLoading: true }] }).run({ prompt: "Go." });
  expect(shown).toEqual([["tool_search"], ["send", "tool_search"], ["send", "tool_search"]]);
  expect(read.slice(0, 3)).toEqual(["send: Sends.", "send: Sends.", expect.stringContaining("No tool fits")]);
  expect(JSON.parse(read[3] ?? "")).toMatchObject([{ name: "send", parameters: { required: ["to"] } }]);
  expect(sent).toEqual(["ada"]);
});

it("stops when another process has continued the run meanwhile", async () => {
  await using runtime = await opened();
  const run = { principal: { tenant: "default", agent: "agent" }, runId: "r1" };
  const script = scriptedModel([{ uses: [sends("ada")] }]);
  const sent: string[] = [];
  const model: AgentModel = {
    ...script,
    generate: async (request) => {
      const { state, version } = (await runtime.agentRuns.load(run)) ?? { state: {}, version: 0 };
      expect(await runtime.agentRuns.save(run, state, version)).toBe(true); // the other process
      return script.generate(request);
    },
  };
  const agent = createAgent({ runtime, model, tools: [sender(sent)] });
  await expect(agent.run({ prompt: "Go.", runId: "r1" })).rejects.toMatchObject({ code: "run_contended" });
  expect(sent).toEqual([]);
});

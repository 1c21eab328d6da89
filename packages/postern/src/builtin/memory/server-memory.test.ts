import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime, type Runtime, type RuntimeOptions, type ServerConfig, type ToolOutcome } from "../../index.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";
import { type MemoryOptions, memoryTools } from "./memory-tools.ts";
import { serverMemory } from "./server-memory.ts";

const program = join(
  import.meta.dirname,
  "../../../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js",
);
let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "postern-memory-"));
});
afterEach(() => rmSync(base, { recursive: true }));

const graph = (): string => join(base, "graph.jsonl");
const entities = (): { name: string; observations: string[] }[] =>
  readFileSync(graph(), "utf8")
    .split("\n")
    .map((line) => JSON.parse(line));

type Terms = NonNullable<ServerConfig["tools"]>;
const trusted: Terms = {
  search_nodes: { risk: "safe", effects: "read", idempotent: true },
  create_entities: { risk: "safe", idempotent: true },
};

/** The real server behind the gates, and our two tools over it. */
async function office(
  tools: Terms = trusted,
  memory: Partial<MemoryOptions> = {},
  options: RuntimeOptions = {},
): Promise<Runtime> {
  const clock = new FakeClock();
  const open = serverMemory({
    server: "notes",
    open: (digest, principal) => runtime.artifacts.open(digest, principal),
  });
  const runtime: Runtime = await createRuntime({
    tools: memoryTools({ provider: open, writeMode: "external", runs: openRunFolders(base), clock, ...memory }),
    servers: { notes: { command: process.execPath, args: [program], env: { MEMORY_FILE_PATH: graph() }, tools } },
    clock,
    autonomy: "A3",
    approvals: { patience: "suspend" },
    ...options,
  });
  return runtime;
}

const ann = { principal: { tenant: "default", agent: "ann", via: "token:agent" }, runId: "run_1" };
const boss = { user: "boss", via: "token:operator" };
const write = (runtime: Runtime, given: object, as: object = ann): Promise<ToolOutcome> =>
  runtime.invoke({ tool: "write_memory", arguments: { ...given } }, as);

async function recalled(
  runtime: Runtime,
  query: string,
  more: object = {},
  as: object = ann,
): Promise<readonly string[]> {
  const outcome = await runtime.invoke({ tool: "recall_memory", arguments: { query, ...more } }, as);
  expect(outcome.status).toBe("ok");
  return (outcome.structured as { memories: { content: string }[] }).memories.map(({ content }) => content);
}

describe("a real memory server", () => {
  it("stores memories, and finds them by phrase, words and tags", async () => {
    await using runtime = await office();
    await write(runtime, { content: "Ann drinks tea at five", tags: ["habits"] });
    await write(runtime, { content: "The tea is in the kitchen" });
    await write(runtime, { content: "The printer is broken" });
    expect(await recalled(runtime, "tea at five")).toEqual(["Ann drinks tea at five"]);
    expect(await recalled(runtime, "kitchen: five teapots, tea")).toEqual([
      "The tea is in the kitchen",
      "Ann drinks tea at five",
    ]);
    expect(await recalled(runtime, "habits")).toEqual(["Ann drinks tea at five"]);
    expect(await recalled(runtime, "tea", { limit: 1 })).toHaveLength(1);
    expect(await recalled(runtime, "coffee")).toEqual([]);
  });

  it("finds them by a sentence without blanks and by another form of a word", async () => {
    await using runtime = await office();
    await write(runtime, { content: "用户喜欢绿茶" });
    await write(runtime, { content: "We never deploy on Friday" });
    expect(await recalled(runtime, "用户喜欢什么茶？")).toEqual(["用户喜欢绿茶"]);
    expect(await recalled(runtime, "deploys")).toEqual(["We never deploy on Friday"]);
  });

  it("gets the same content once", async () => {
    await using runtime = await office();
    await write(runtime, { content: "tea" });
    await write(runtime, { content: "tea" });
    expect(entities().map(({ observations }) => observations)).toEqual([["tea"]]);
  });

  it("returns no memories of other agents, and no other entities of the graph", async () => {
    await using runtime = await office();
    await write(runtime, { content: "the plan of Ann" });
    const foreign = { name: "plan", entityType: "postern", observations: ["the plan of somebody"] };
    await runtime.invoke({ tool: "notes__create_entities", arguments: { entities: [foreign] } }, ann);
    const bob = { principal: { ...ann.principal, agent: "bob" }, runId: "run_2" };
    expect(await recalled(runtime, "plan", {}, bob)).toEqual([]);
    expect(await recalled(runtime, "postern", {}, ann)).toEqual([]);
    expect(await recalled(runtime, "plan", {}, ann)).toEqual(["the plan of Ann"]);
  });

  it("is called through the gates, each call as a child of ours", async () => {
    await using runtime = await office();
    const { callId } = await write(runtime, { content: "tea" });
    const calls = await runtime.calls.list();
    expect(calls.map(({ call }) => [call.tool, call.parentId])).toEqual([
      ["notes__create_entities", callId],
      ["write_memory", undefined],
    ]);
  });

  it("opens an answer that was too large to be inline", async () => {
    await using runtime = await office();
    for (const n of [1, 2, 3]) await write(runtime, { content: `plan ${n} ${"word ".repeat(300)}` });
    expect(await recalled(runtime, "plan", { limit: 1 })).toHaveLength(1);
    expect((await runtime.calls.list({ tool: "notes__search_nodes" }))[0]?.outcome?.artifact).toBeDefined();
    const outcome = await runtime.invoke({ tool: "recall_memory", arguments: { query: "plan", limit: 3 } }, ann);
    expect(outcome.summary).toMatch(/memories: table of 3 rows/);
  });

  it("suspends the call while an approver decides on the server's call, and runs it once", async () => {
    await using runtime = await office({ ...trusted, create_entities: { risk: "high" } });
    const pending = await write(runtime, { content: "tea" });
    expect(pending).toMatchObject({ status: "pending" });
    const approval = await runtime.approvals.get(pending.approvalId ?? "");
    expect(approval).toMatchObject({ tool: "notes__create_entities" });
    expect(() => entities()).toThrow("ENOENT");
    await runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
    expect(await write(runtime, { content: "tea" })).toMatchObject({ status: "ok" });
    expect(entities()).toHaveLength(1);
    expect((await runtime.calls.list({ tool: "notes__create_entities" })).map(({ state }) => state)).toEqual(["ok"]);
  });

  it("fails with a reason if the policy or an approver refuses the server's tool", async () => {
    const rules = [{ effect: "deny", tool: "notes__create_*" }] as const;
    await using denying = await office(trusted, {}, { policy: { rules } });
    expect(await write(denying, { content: "tea" })).toMatchObject({
      status: "error",
      refusal: { code: "tool_failed", message: expect.stringContaining("The memory server `notes`:") },
    });
    await using asking = await office({ ...trusted, create_entities: { risk: "high" } });
    const { approvalId = "" } = await write(asking, { content: "tea" });
    await asking.approvals.decide(approvalId, { decision: "denied", by: boss });
    expect(await write(asking, { content: "tea" })).toMatchObject({
      status: "error",
      refusal: { code: "tool_failed" },
    });
    expect(() => entities()).toThrow("ENOENT");
  });

  it("is not called in the mode candidate", async () => {
    await using runtime = await office(trusted, { writeMode: "candidate" });
    expect(await write(runtime, { content: "tea" })).toMatchObject({ structured: { status: "candidate" } });
    expect(await runtime.calls.list({ tool: "notes__create_entities" })).toEqual([]);
    expect(() => entities()).toThrow("ENOENT");
  });
});

it("names the missing server", async () => {
  const clock = new FakeClock();
  const tools = memoryTools({ provider: serverMemory({ server: "gone" }), runs: openRunFolders(base), clock });
  await using runtime = await createRuntime({ tools, clock });
  const outcome = await runtime.invoke({ tool: "recall_memory", arguments: { query: "tea" } }, ann);
  expect(outcome.text).toContain("The memory server `gone`: ");
});

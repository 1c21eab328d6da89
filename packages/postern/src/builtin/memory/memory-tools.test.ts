import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { type CallEvent, createRuntime, type Runtime, type ToolOutcome } from "../../index.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";
import type { RunFolders } from "../../system/run-folders.ts";
import type { Memory, MemoryProvider } from "./memory.ts";
import { type MemoryOptions, memoryTools } from "./memory-tools.ts";

let base: string;
let runs: RunFolders;
const clock = new FakeClock();
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "postern-memory-"));
  runs = openRunFolders(base);
});
afterEach(() => rmSync(base, { recursive: true }));

const ann = { principal: { tenant: "default", agent: "ann" }, runId: "run_1" };

/** A contract that writes down what it was asked. */
class Contract implements MemoryProvider {
  readonly asked: unknown[] = [];
  readonly memories: Memory[] = [{ id: "m1", content: "tea at five", scope: "agent", tags: ["tea"], at: 0 }];

  async recall(...given: unknown[]): Promise<readonly Memory[]> {
    this.asked.push(["recall", ...given]);
    return this.memories;
  }
  async write(...given: unknown[]): Promise<{ id: string }> {
    this.asked.push(["write", ...given]);
    return { id: "m2" };
  }
}

async function withMemory(options: Partial<MemoryOptions> = {}, autonomy?: "A2"): Promise<Runtime> {
  const tools = memoryTools({ runs, clock, ...options });
  return createRuntime({
    tools,
    clock,
    ...(autonomy !== undefined && { autonomy }),
    approvals: { patience: "suspend" },
  });
}

const write = (runtime: Runtime, given: object, context: object = ann): Promise<ToolOutcome> =>
  runtime.invoke({ tool: "write_memory", arguments: { ...given } }, context);
const recall = (runtime: Runtime, given: object, context: object = ann): Promise<ToolOutcome> =>
  runtime.invoke({ tool: "recall_memory", arguments: { ...given } }, context);

function candidateLines(run = "run_1"): readonly string[] {
  return readFileSync(join(base, run, "archive", "memory-candidates.jsonl"), "utf8")
    .trimEnd()
    .split("\n");
}

describe("write_memory", () => {
  it("is unavailable in the mode disabled", async () => {
    const provider = new Contract();
    await using runtime = await withMemory({ provider, writeMode: "disabled" });
    const outcome = await write(runtime, { content: "tea" });
    expect(outcome).toMatchObject({
      status: "error",
      text: "unavailable: memory.write_mode is disabled",
      structured: { code: "unavailable", setting: "memory.write_mode" },
      refusal: { code: "tool_failed", message: "unavailable: memory.write_mode is disabled" },
    });
    expect(provider.asked).toEqual([]);
    expect(() => candidateLines()).toThrow("ENOENT");
  });

  it("writes a line into the run's archive by default, and calls no provider", async () => {
    const provider = new Contract();
    await using runtime = await withMemory({ provider }, "A2");
    const outcome = await write(runtime, { content: "tea at five", tags: ["tea"] });
    expect(outcome).toMatchObject({ status: "ok", structured: { status: "candidate" } });
    expect(candidateLines().map((line) => JSON.parse(line))).toEqual([
      {
        candidate_id: (outcome.structured as { candidate_id: string }).candidate_id,
        at: new Date(clock.now()).toISOString(),
        run_id: "run_1",
        call_id: outcome.callId,
        agent: "ann",
        scope: "agent",
        content: "tea at five",
        tags: ["tea"],
      },
    ]);
    expect(provider.asked).toEqual([]);
  });

  it("calls the provider exactly once in the mode external", async () => {
    const provider = new Contract();
    await using runtime = await withMemory({ provider, writeMode: "external" }, "A2");
    const given = { content: "tea at five", scope: "agent", tags: ["tea"] };
    const pending = await write(runtime, given);
    expect(pending.status).toBe("pending");
    expect(provider.asked).toEqual([]);
    await runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: { user: "boss" } });
    expect(await write(runtime, given)).toMatchObject({ status: "ok", structured: { status: "remembered", id: "m2" } });
    expect(await write(runtime, given)).toMatchObject({ status: "ok", replayed: true });
    expect(provider.asked).toEqual([["write", "tea at five", "agent", ["tea"]]]);
    expect(() => candidateLines()).toThrow("ENOENT");
  });

  it("writes the same content of one run as one candidate", async () => {
    await using runtime = await withMemory();
    const ids = new Set<unknown>();
    for (const content of ["tea", "tea", "coffee"])
      ids.add(((await write(runtime, { content })).structured as { candidate_id: string }).candidate_id);
    expect(ids.size).toBe(2);
    expect(candidateLines()).toHaveLength(3);
  });

  it("writes whole lines if many calls write at once", async () => {
    await using runtime = await withMemory();
    const contents = Array.from({ length: 100 }, (_, n) => `${n} ${"käse\n".repeat(n * 10)}`);
    const outcomes = await Promise.all(contents.map((content) => write(runtime, { content })));
    expect(outcomes.every(({ status }) => status === "ok")).toBe(true);
    const kept = candidateLines().map((line) => (JSON.parse(line) as { content: string }).content);
    expect(new Set(kept)).toEqual(new Set(contents));
  });

  it("accepts 65,535 bytes and refuses one more", async () => {
    await using runtime = await withMemory();
    expect((await write(runtime, { content: "x".repeat(65_535) })).status).toBe("ok");
    expect(await write(runtime, { content: "x".repeat(65_536) })).toMatchObject({
      refusal: { code: "arguments_invalid" },
    });
    expect(await write(runtime, { content: "é".repeat(32_768) })).toMatchObject({
      status: "error",
      structured: { code: "memory_too_large", bytes: 65_536, limit: 65_536 },
    });
    expect(candidateLines()).toHaveLength(1);
  });

  it("masks secrets before they reach the disk", async () => {
    const redactor = { redact: (text: string) => text.replaceAll("sesame", "[redacted]") };
    await using runtime = await withMemory({ redactor });
    await write(runtime, { content: "open sesame", tags: ["sesame"] });
    expect(candidateLines().join()).not.toContain("sesame");
    expect(JSON.parse(candidateLines()[0] ?? "")).toMatchObject({ content: "open [redacted]", tags: ["[redacted]"] });
  });

  it.each([
    [{ content: "" }, "content"],
    [{ content: "a", scope: "user" }, "scope"],
    [{ content: "a", scope: "../.." }, "scope"],
    [{ content: "a", tags: ["x".repeat(65)] }, "tags"],
    [{ content: "a", tags: "x" }, "tags"],
    [{ content: "a", more: 1 }, "more"],
  ])("refuses %j before anything runs", async (given, named) => {
    await using runtime = await withMemory();
    const outcome = await write(runtime, given);
    expect(outcome.refusal?.code).toBe("arguments_invalid");
    expect(outcome.text).toContain(named);
  });

  it("has the scope `user` only with a user", async () => {
    await using runtime = await withMemory({ scopes: ["agent", "user"] });
    expect(await write(runtime, { content: "a", scope: "user" })).toMatchObject({
      status: "error",
      structured: { code: "unavailable" },
    });
    const withUser = { principal: { ...ann.principal, user: "u1" }, runId: "run_2" };
    expect(await write(runtime, { content: "a", scope: "user" }, withUser)).toMatchObject({ status: "ok" });
    expect(JSON.parse(candidateLines("run_2")[0] ?? "")).toMatchObject({ user: "u1", scope: "user" });
  });

  it("fails as a tool if its line cannot be written", async () => {
    await using runtime = await withMemory({
      runs: {
        find: () => undefined,
        open: () => {
          throw new Error("the disk is gone");
        },
      },
    });
    expect(await write(runtime, { content: "a" })).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
  });
});

describe("recall_memory", () => {
  it("gives the provider exactly query, scope and limit", async () => {
    const provider = new Contract();
    await using runtime = await withMemory({ provider, scopes: ["agent", "team"] });
    const outcome = await recall(runtime, { query: "tea?", scope: "team", limit: 3 });
    expect(provider.asked).toEqual([["recall", "tea?", "team", 3]]);
    expect(outcome.structured).toEqual({
      memories: [{ id: "m1", content: "tea at five", scope: "agent", tags: ["tea"], at: "1970-01-01T00:00:00.000Z" }],
    });
    await recall(runtime, { query: "tea" });
    expect(provider.asked.at(-1)).toEqual(["recall", "tea", "agent", 10]);
  });

  it("announces the search and its count, without content", async () => {
    await using runtime = await withMemory({ provider: new Contract(), writeMode: "external" });
    const said: CallEvent[] = [];
    using _ = runtime.watch((event) => void said.push(event));
    await recall(runtime, { query: "a secret plan" });
    await write(runtime, { content: "a secret plan" }, { ...ann, autonomy: "A4" });
    const emitted = said.filter((event) => event.moment === "emitted");
    expect(emitted.map(({ type }) => type)).toEqual([
      "memory.recall.started",
      "memory.recall.completed",
      "memory.write.requested",
    ]);
    expect(emitted[1]?.data).toEqual({ scope: "agent", count: 1 });
    expect(JSON.stringify(emitted.map(({ type, summary, data }) => [type, summary, data]))).not.toContain(
      "secret plan",
    );
  });

  it("says what it searched for when it finds nothing", async () => {
    const provider = { recall: async () => [], write: async () => ({}) };
    await using runtime = await withMemory({ provider });
    const outcome = await recall(runtime, { query: "Which tea?" });
    expect(outcome.structured).toEqual({
      memories: [],
      note: "Nothing that is remembered in `agent` has these words or is like them: which, tea. Try other words.",
    });
    expect(outcome.text).toContain("which, tea");
  });

  it("returns at most `limit` memories", async () => {
    const provider = new Contract();
    for (let n = 0; n < 99; n += 1) provider.memories.push({ id: `${n}`, content: "tea", scope: "agent", tags: [] });
    await using runtime = await withMemory({ provider });
    const { structured } = await recall(runtime, { query: "tea", limit: 7 });
    expect((structured as { memories: unknown[] }).memories).toHaveLength(7);
  });

  it.each([undefined, null, "tea", [{ id: 1 }], [null], { memories: [] }])(
    "fails where a contract answers %j",
    async (answer) => {
      const provider = { recall: async () => answer as never, write: async () => ({}) };
      await using runtime = await withMemory({ provider });
      const outcome = await recall(runtime, { query: "tea" });
      expect(outcome).toMatchObject({ status: "error", refusal: { code: "tool_failed" } });
      expect(outcome.text).toContain("not a list of memories");
    },
  );

  it("is unavailable without a provider", async () => {
    await using runtime = await withMemory();
    expect(await recall(runtime, { query: "tea" })).toMatchObject({
      status: "error",
      text: "unavailable: no memory provider is configured",
    });
  });

  it("is refused outside the limits of its arguments", async () => {
    await using runtime = await withMemory({ provider: new Contract() });
    for (const given of [
      {},
      { query: "" },
      { query: "a", limit: 0 },
      { query: "a", limit: 51 },
      { query: "a", scope: "b" },
    ])
      expect((await recall(runtime, given)).refusal?.code).toBe("arguments_invalid");
  });
});

it("refuses an invalid mode or scope, and external without a provider", () => {
  const bad: readonly (readonly [Partial<MemoryOptions>, string])[] = [
    [{ writeMode: "on" as never }, '`memory.write_mode` is "on"; it must be disabled, candidate, external.'],
    [{ writeMode: "external" }, "needs a provider"],
    [{ scopes: [] }, "holds 0 names"],
    [{ scopes: ["a b"] }, '`memory.scopes` holds "a b"'],
  ];
  for (const [options, said] of bad) expect(() => memoryTools({ runs, clock, ...options })).toThrow(said);
});

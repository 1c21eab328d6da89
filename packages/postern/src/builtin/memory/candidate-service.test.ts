import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolOutcome } from "@postern/core";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime } from "../../index.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";
import { suspend } from "../../tools/define.ts";
import { CandidateService, type CandidateServiceOptions } from "./candidate-service.ts";
import type { MemoryCall, MemoryFor } from "./memory.ts";
import { memoryTools } from "./memory-tools.ts";

let base: string;
const clock = new FakeClock();
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "postern-memory-"));
});
afterEach(() => rmSync(base, { recursive: true }));

const boss = { by: { by: "boss", via: "token:operator" }, call: (): never => expect.unreachable() };
const archive = (name: string): string => join(base, "run_1", "archive", name);

/** A provider that writes down what it got and for whom, and ends as `end` says. */
function contract(end: () => unknown = () => ({ id: "kept_1" })): {
  readonly provider: MemoryFor;
  readonly wrote: unknown[];
} {
  const wrote: unknown[] = [];
  const provider = ({ principal }: MemoryCall): ReturnType<MemoryFor> => ({
    recall: async () => [],
    write: async (...given) => {
      wrote.push([principal, ...given]);
      return end() as { id: string };
    },
  });
  return { provider, wrote };
}

/** A desk over one run in which an agent proposed these. */
async function desk(
  contents: readonly string[],
  options: Partial<CandidateServiceOptions> = {},
): Promise<{ readonly desk: CandidateService; readonly ids: readonly string[] }> {
  const runs = openRunFolders(base);
  await using runtime = await createRuntime({ tools: memoryTools({ runs, clock }), clock });
  const ids: string[] = [];
  for (const content of contents) {
    const call = { tool: "write_memory", arguments: { content, tags: ["t"] } };
    const { structured } = await runtime.invoke(call, {
      principal: { tenant: "default", agent: "ann" },
      runId: "run_1",
    });
    ids.push((structured as { candidate_id: string }).candidate_id);
  }
  return { desk: new CandidateService({ runs, clock, ...options }), ids };
}

const named = (id: string | undefined): { tenant: string; runId: string; id: string } => ({
  tenant: "default",
  runId: "run_1",
  id: id ?? "",
});

it("writes an accepted candidate to the provider once, for the agent that proposed it", async () => {
  const { provider, wrote } = contract();
  const { desk: at, ids } = await desk(["tea", "coffee"], { provider });
  const [first] = ids;
  expect(await at.accept(named(first), { ...boss, reason: "true" })).toMatchObject({
    decided: true,
    candidate: { state: "accepted", decision: { step: "accepted", by: "boss", reason: "true", memoryId: "kept_1" } },
  });
  expect(await at.accept(named(first), boss)).toMatchObject({ decided: false, code: "candidate_decided" });
  expect(await at.reject(named(first), boss)).toMatchObject({ decided: false, code: "candidate_decided" });
  expect(wrote).toEqual([[{ tenant: "default", agent: "ann" }, "tea", "agent", ["t"]]]);
  expect((await at.list("default", "run_1")).map(({ content, state }) => [content, state])).toEqual([
    ["tea", "accepted"],
    ["coffee", "open"],
  ]);
});

it("calls the provider once if two people accept at the same time", async () => {
  const { provider, wrote } = contract();
  const { desk: at, ids } = await desk(["tea"], { provider });
  const both = await Promise.all([at.accept(named(ids[0]), boss), at.accept(named(ids[0]), boss)]);
  expect(both.map(({ decided }) => decided)).toEqual([true, false]);
  expect(wrote).toHaveLength(1);
});

it("records every decision and never changes the file of candidates", async () => {
  const { provider, wrote } = contract();
  const { desk: at, ids } = await desk(["tea", "coffee"], { provider });
  const before = readFileSync(archive("memory-candidates.jsonl"), "utf8");
  await at.accept(named(ids[0]), boss);
  expect(await at.reject(named(ids[1]), { ...boss, reason: "wrong" })).toMatchObject({ decided: true });
  expect(await at.accept(named(ids[1]), boss)).toMatchObject({ code: "candidate_decided" });
  expect(wrote).toHaveLength(1);
  expect(readFileSync(archive("memory-candidates.jsonl"), "utf8")).toBe(before);
  const lines = readFileSync(archive("memory-decisions.jsonl"), "utf8").trimEnd().split("\n");
  const spoken = { at: new Date(clock.now()).toISOString(), by: "boss", via: "token:operator" };
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { candidate_id: ids[0], decision: "accepting", ...spoken, attempt: 1 },
    { candidate_id: ids[0], decision: "accepted", ...spoken, memory_id: "kept_1", attempt: 1 },
    { candidate_id: ids[1], decision: "rejected", ...spoken, reason: "wrong" },
  ]);
});

it("leaves a candidate open if the provider fails, and says why", async () => {
  const answers = [
    (): never => {
      throw new Error("the memory is full");
    },
    () => ({}),
  ];
  const { provider, wrote } = contract(() => answers.shift()?.());
  const { desk: at, ids } = await desk(["tea"], { provider });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({
    code: "memory_failed",
    message: expect.stringContaining("the memory is full"),
    candidate: { state: "open" },
  });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({ decided: true });
  expect(wrote).toHaveLength(2);
});

it("does not repeat an acceptance with an unknown end, unless a person asks", async () => {
  const answers = [
    (): never => {
      throw Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
    },
    () => ({}),
  ];
  const { provider, wrote } = contract(() => answers.shift()?.());
  const { desk: at, ids } = await desk(["tea"], { provider });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({
    code: "candidate_unclear",
    candidate: { state: "unknown" },
  });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({ code: "candidate_unclear" });
  expect(wrote).toHaveLength(1);
  expect(await at.accept(named(ids[0]), { ...boss, again: true })).toMatchObject({ decided: true });
  expect(wrote).toHaveLength(2);
});

it("shows an acceptance that a crash cut off as unknown", async () => {
  const { provider, wrote } = contract();
  const { desk: at, ids } = await desk(["tea"], { provider });
  const line = { candidate_id: ids[0], decision: "accepting", at: new Date(0).toISOString(), by: "boss" };
  writeFileSync(archive("memory-decisions.jsonl"), `${JSON.stringify(line)}\n{"candidate_id":"${ids[0]}","deci`);
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({ code: "candidate_unclear" });
  expect(wrote).toEqual([]);
  expect(await at.reject(named(ids[0]), boss)).toMatchObject({ decided: true, candidate: { state: "rejected" } });
});

it("waits for an approval of the provider's call, and continues when accepted again", async () => {
  const answers = [() => suspend("memory", "apr_1"), () => ({ id: "kept_1" })];
  const { provider } = contract(() => answers.shift()?.());
  const { desk: at, ids } = await desk(["tea"], { provider });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({
    code: "candidate_waiting",
    candidate: { state: "waiting", decision: { approvalId: "apr_1" } },
  });
  expect(await at.accept(named(ids[0]), boss)).toMatchObject({
    decided: true,
    candidate: { decision: { attempt: 1 } },
  });
});

it("calls tools under a key of the candidate and the attempt", async () => {
  const keys: string[] = [];
  const provider: MemoryFor = ({ call }) => ({
    recall: async () => [],
    write: async () => {
      await call({ tool: "keep" });
      await call({ tool: "index" });
      if (keys.length < 5) throw new Error("not yet");
      return {};
    },
  });
  const { desk: at, ids } = await desk(["tea"], { provider });
  const call = async (_: unknown, key: string): Promise<ToolOutcome> => {
    keys.push(key);
    return { status: "ok", callId: "call_1", content: [], text: "" };
  };
  for (let n = 0; n < 3; n += 1) await at.accept(named(ids[0]), { ...boss, call });
  expect(keys).toEqual(["1/1", "1/2", "2/1", "2/2", "3/1", "3/2"].map((key) => `memory/${ids[0]}/${key}`));
});

it("shows no candidate whose content does not fit its id", async () => {
  const { provider, wrote } = contract();
  const { desk: at, ids } = await desk(["tea"], { provider });
  const file = archive("memory-candidates.jsonl");
  const line = readFileSync(file, "utf8");
  for (const forged of [
    line.replace('"tea"', '"poison"'),
    line.replace('"ann"', '"bob"'),
    line.replace('"scope":"agent"', '"scope":"team"'),
    "not json\n",
    "[]\n",
    `{"candidate_id":"${ids[0]}"}\n`,
  ])
    writeFileSync(file, `${forged}${readFileSync(file, "utf8")}`);
  expect((await at.list("default", "run_1")).map(({ content }) => content)).toEqual(["tea"]);
  await at.accept(named(ids[0]), boss);
  expect(wrote).toHaveLength(1);
});

it("finds no candidate of another run or tenant", async () => {
  const { desk: at, ids } = await desk(["tea"], contract());
  expect(await at.accept({ ...named(ids[0]), runId: "run_2" }, boss)).toMatchObject({ code: "candidate_unknown" });
  expect(await at.accept({ ...named(ids[0]), tenant: "acme" }, boss)).toMatchObject({ code: "candidate_unknown" });
  expect(await at.accept(named("mem_0"), boss)).toMatchObject({ code: "candidate_unknown" });
});

it("accepts nothing without a provider, or into a removed scope", async () => {
  const { desk: bare, ids } = await desk(["tea"]);
  expect(await bare.accept(named(ids[0]), boss)).toMatchObject({ code: "candidate_refused" });
  const { desk: narrowed } = await desk([], { ...contract(), scopes: ["team"] });
  expect(await narrowed.accept(named(ids[0]), boss)).toMatchObject({ code: "candidate_refused" });
  expect(await narrowed.reject(named(ids[0]), boss)).toMatchObject({ decided: true });
});

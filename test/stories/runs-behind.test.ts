import { mkdirSync, readFileSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { OpenStore } from "../../packages/postern/src/store/open-store.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { differences } from "../fakes/projected-again.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const base = { ...asker, runId: "run_1" } as const;

it("a run folder fills gaps from the audit log, and no call is slower or lost", async () => {
  const folder = runsFolder();
  const logged: string[] = [];
  await using h = await runtimeFixture({ archive: { folder }, log: (problem) => void logged.push(problem) });
  const session = h.runtime.openSession({}, base);
  for (let i = 0; i < 9_000; i += 1) await session.invoke({ tool: "echo", arguments: { to: `${i}` } });
  expect(logged).toEqual([expect.stringContaining("cannot keep up")]);
  await h.runtime.runs?.flush();
  await h.clock.advance(1_000);
  await h.runtime.runs?.flush();

  const run = new RunFolder(folder, "run_1");
  expect(run.isGapless).toBe(true);
  expect(run.calls).toHaveLength(9_000);
  expect(run.calls.filter(({ recovered }) => recovered === true).length).toBeGreaterThan(100);
  expect(await differences(h.runtime, run)).toEqual([]);
}, 60_000);

it("loses no line of a run that could not be written for long", async () => {
  const folder = runsFolder();
  const logged: string[] = [];
  await using h = await runtimeFixture({ archive: { folder }, log: (problem) => void logged.push(problem) });
  const run = new RunFolder(folder, "run_1");
  const session = h.runtime.openSession({}, base);
  await session.invoke({ tool: "echo", arguments: { to: "first" } });
  await h.runtime.runs?.flush();
  renameSync(run.file("events.jsonl"), run.file("aside"));
  mkdirSync(run.file("events.jsonl"));
  for (let i = 0; i < 6_000; i += 1) {
    await session.invoke({ tool: "echo", arguments: { to: `${i}` } });
    if (i % 1_000 === 999) await h.runtime.runs?.flush();
  }
  expect((await h.runtime.runs?.get({ runId: "run_1" }))?.governance.reasons.map(({ code }) => code)).toContain(
    "events_lost",
  );
  rmdirSync(run.file("events.jsonl"));
  renameSync(run.file("aside"), run.file("events.jsonl"));
  for (let i = 0; i < 3; i += 1) {
    await h.runtime.runs?.flush();
    await h.clock.advance(1_000);
  }
  await h.runtime.runs?.flush();

  expect(run.isGapless).toBe(true);
  expect(run.calls).toHaveLength(6_001);
  expect(await differences(h.runtime, run)).toEqual([]);
  expect(logged.filter((line) => line.includes("cannot be written now"))).toHaveLength(1);
}, 60_000);

it("does not count an entry as written before the database keeps it", async () => {
  const folder = runsFolder();
  const synced = Promise.withResolvers<void>();
  const store: OpenStore = (context) => {
    const opened: Store = new MemoryStore(context);
    const commit = opened.commit.bind(opened);
    opened.commit = async (write, durability) => {
      if (write.write === "document" && write.kind === "checkpoint") await synced.promise;
      return commit(write, durability);
    };
    return opened;
  };
  const upTo = (): unknown => JSON.parse(readFileSync(join(folder, ".position.json"), "utf8")).up_to;
  await using h = await runtimeFixture({ archive: { folder }, store });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  for (let second = 0; second < 3; second += 1) {
    await h.clock.advance(1_000);
    await h.runtime.runs?.flush();
  }
  const before = { calls: new RunFolder(folder, "run_1").calls.length, upTo: upTo() };
  synced.resolve(); // first, because the runtime ends only with its last checkpoint
  expect(before).toEqual({ calls: 1, upTo: 0 });
  await h.runtime.audit.checkpoint();
  await h.clock.advance(1_000);
  await h.runtime.runs?.flush();
  expect(upTo()).toBe(h.runtime.audit.size);
});

it("a run without a line for an hour is closed with its manifest, and continues when used again", async () => {
  const folder = runsFolder();
  await using h = await runtimeFixture({ archive: { folder } });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  await h.runtime.runs?.flush();
  await h.clock.advance(3_700_000);
  await h.runtime.invoke({ tool: "echo", arguments: { to: "b" } }, { ...base, runId: "run_2" });
  await h.runtime.runs?.flush();
  expect((await h.runtime.runs?.list())?.map(({ run_id, state }) => `${run_id} ${state}`).sort()).toEqual([
    "run_1 stopped",
    "run_2 running",
  ]);
  const run = new RunFolder(folder, "run_1");
  expect(run.json("artifact-manifest.json")).toMatchObject({ run_id: "run_1", deliverables: [] });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "c" } }, base);
  expect(await differences(h.runtime, run)).toEqual([]);
  expect(run.calls).toHaveLength(2);
  expect(run.isGapless).toBe(true);
});

it("keeps several hundred runs at once", async () => {
  const folder = runsFolder();
  await using h = await runtimeFixture({ archive: { folder } });
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(
      Array.from({ length: 400 }, (_, i) =>
        h.runtime.invoke({ tool: "echo", arguments: { to: `${i}` } }, { ...asker, runId: `run_${i}` }),
      ),
    );
    await h.runtime.runs?.flush();
    await h.clock.advance(1_000);
    await h.runtime.runs?.flush();
  }
  for (const i of [0, 1, 200, 399]) {
    const run = new RunFolder(folder, `run_${i}`);
    expect(await differences(h.runtime, run, { runId: `run_${i}` })).toEqual([]);
    expect(run.calls).toHaveLength(2);
  }
  expect(await h.runtime.runs?.list({ limit: 1_000 })).toHaveLength(400);
}, 60_000);

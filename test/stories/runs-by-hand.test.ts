import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, RuntimeFault } from "../../packages/postern/src/index.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { differences } from "../fakes/projected-again.ts";
import { openRunArchive } from "../fakes/run-archive.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";

const child = join(import.meta.dirname, "../crash/by-hand-child.ts");
const ann = { by: "ann", via: "session:ann" };
const byHand = { begin: "run_begun", describe: "run_described", finish: "run_finished" } as const;

/** Returns all files of the run folders, without their position in the log. */
function contents(folder: string): Readonly<Record<string, string>> {
  if (!existsSync(folder)) return {};
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !path.includes(".position"));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, "utf8")]));
}

function live(folder: string, verb: string, when: string): NodeJS.Signals | null {
  return spawnSync(process.execPath, [child, folder, verb, when], { stdio: "inherit" }).signal;
}

it.each(Object.entries(byHand))(
  "%s by hand: if killed after its entry in the log, the restart adds the entry's line",
  async (verb, type) => {
    for (const when of ["before", "after"]) {
      const folder = runsFolder();
      const runs = join(folder, "runs");
      expect(live(folder, "none", when)).toBeNull();
      const before = contents(runs);
      expect(live(folder, verb, when)).toBe("SIGKILL");
      expect(contents(runs)).toEqual(before);
      await using runtime = await createRuntime({
        store: `sqlite:${join(folder, "postern.db")}`,
        archive: { folder: runs },
      });
      const runId = verb === "begin" ? "new" : "old";
      const events = (await runtime.audit.query({ type: `operator.action.${type}` })).filter(
        ({ data }) => (data as { run_id: string }).run_id === runId, // such events name their run
      );
      expect(events.map(({ principal }) => principal?.user)).toEqual(when === "after" ? ["ann"] : []);
      const ids = (await runtime.runs?.list())?.map(({ run_id }) => run_id);
      expect(ids).toEqual(when === "after" && verb === "begin" ? ["new", "old"] : ["old"]);
      expect(await differences(runtime, new RunFolder(runs, "old"), { runId: "old" })).toEqual([]);
    }
  },
);

it("the log names the person who began, described and finished a run, with nothing late", async () => {
  await using k = await openRunArchive();
  const { runs, audit } = k.h.runtime;
  const name = { runId: "run_1" };
  await runs?.begin(name, { task: "one", by: ann });
  await runs?.describe(name, { task: "two", by: ann });
  await runs?.finish(name, { state: "failed", reason: "gave up", by: ann });
  await runs?.flush();
  const events = await audit.query({});
  expect(
    events.map(({ type, principal, data }) => [type, principal?.user, (data as { reason?: string }).reason]),
  ).toEqual([
    ["operator.action.run_begun", "ann", undefined],
    ["operator.action.run_described", "ann", undefined],
    ["operator.action.run_finished", "ann", "gave up"],
  ]);
  expect(k.run.types.filter((type) => type.startsWith("operator."))).toEqual([
    "operator.action.run_begun",
    "operator.action.run_described",
  ]);
  const summary = await runs?.get(name);
  expect(summary?.governance.reasons.map(({ code }) => code)).toEqual(["run_failed"]);
  expect(summary).not.toHaveProperty("principal");
});

it("an act that cannot be logged changes nothing, and an invalid act is not logged", async () => {
  const clock = new FakeClock();
  const failing: Failing = new Map();
  const { h, folder, ...k } = await openRunArchive([], { clock, store: new FaultyStore(clock, failing) });
  await using _kept = k;
  const { runs, audit } = h.runtime;
  const name = { runId: "run_1" };
  failing.set("note", 1);
  await expect(runs?.begin(name, { task: "one", by: ann })).rejects.toThrow(RuntimeFault);
  expect(contents(folder)).toEqual({});
  await runs?.begin(name, { task: "one", by: ann });
  const before = contents(folder);
  for (const verb of ["describe", "finish"] as const) {
    failing.set("note", 1);
    await expect(runs?.[verb](name, { by: ann })).rejects.toThrow("the disk is full");
  }
  for (const odd of [{ deliverables: ["../out"] }, { deliverables: Array(1_001).fill("a") }])
    await expect(runs?.describe(name, { ...odd, by: ann })).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/deliverable/),
    });
  await expect(runs?.begin({ runId: "a/b" }, { by: ann })).rejects.toMatchObject({
    code: "request_invalid",
    message: expect.stringContaining("is no run's id"),
  });
  await runs?.flush();
  const after = contents(folder);
  expect(after[join(folder, "run_1", "task.yaml")]).toBe(before[join(folder, "run_1", "task.yaml")]);
  expect((await audit.query({})).map(({ type }) => type)).toEqual(["operator.action.run_begun"]);
});

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, type Runtime } from "../../../packages/postern/src/index.ts";
import { mail } from "../../fakes/deciders.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { differences } from "../../fakes/projected-again.ts";
import { RunFolder, runsFolder } from "../../fakes/run-folder.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();
const named = { ...asker, runId: "run_1" };
const echo = (to: string) => ({ tool: "echo", arguments: { to } });

/** A gateway that only asks for runs: what the others do is in the log. */
async function reader(store: string, folder: string): Promise<Runtime> {
  const runtime = await createRuntime({ store, archive: { folder } });
  onTestFinished(() => runtime.close());
  return runtime;
}

it("has all calls of a run in the folder of each gateway, whichever made them", async () => {
  const folders = { a: runsFolder(), b: runsFolder() };
  await using g = await twoGateways(postgres.newStore(), (name) => ({ archive: { folder: folders[name] } }));
  for (let n = 0; n < 5; n += 1) {
    await g.a.invoke(echo(`a${n}`), named);
    await g.b.invoke(echo(`b${n}`), named);
  }
  await g.a.invoke(mail("x"), named);
  for (const name of ["a", "b"] as const) {
    const run = new RunFolder(folders[name], "run_1");
    await expect.poll(async () => (await g[name].runs?.calls(named))?.length).toBe(10);
    await expect
      .poll(() => g[name].runs?.get(named))
      .toMatchObject({ state: "waiting", counts: { completed: 10, waiting: 1 } });
    expect(await differences(g[name], run)).toEqual([]);
  }
  expect(g.problems).toEqual([]);
});

it("has the calls of a run that began before the gateway was started, when a person asks for it", async () => {
  const store = postgres.newStore();
  await using g = await twoGateways(store);
  for (let n = 0; n < 3; n += 1) await g.a.invoke(echo(`${n}`), named);
  await g.a.invoke(mail("x"), named);
  const folder = runsFolder();
  const late = await reader(store, folder);
  const other = { ...named, runId: "run_2" };
  await g.a.invoke(echo("other"), other);
  await expect.poll(async () => (await late.runs?.calls(other))?.length).toBe(1);
  expect(existsSync(join(folder, "run_1"))).toBe(false);
  expect(await late.runs?.calls(named)).toHaveLength(3);
  expect(await late.runs?.get(named)).toMatchObject({ counts: { waiting: 1 } });
  await g.b.invoke(echo("later"), named);
  const run = new RunFolder(folder, "run_1");
  await expect.poll(async () => (await late.runs?.calls(named))?.length).toBe(4);
  expect(await differences(late, run)).toEqual([]);
  expect(await late.runs?.get(named)).toMatchObject({ principal: { agent: asker.principal.agent } });
});

it("has the earlier calls of such a run before the next one, also if no request asks for the run", async () => {
  const store = postgres.newStore();
  await using g = await twoGateways(store);
  for (let n = 0; n < 3; n += 1) await g.a.invoke(echo(`${n}`), named);
  const folder = runsFolder();
  const late = await reader(store, folder);
  await g.a.invoke(echo("later"), named);
  const run = new RunFolder(folder, "run_1");
  const flushed = async (): Promise<number> => {
    await late.runs?.flush();
    return run.calls.length;
  };
  await expect.poll(flushed).toBe(4);
  expect(await differences(late, run)).toEqual([]);
});

it("has the calls that others made while the gateway was away", async () => {
  const store = postgres.newStore();
  await using g = await twoGateways(store);
  const folder = runsFolder();
  const first = await reader(store, folder);
  await g.a.invoke(echo("1"), named);
  await expect.poll(async () => (await first.runs?.calls(named))?.length).toBe(1);
  await first.close();
  await g.a.invoke(echo("2"), named);
  const again = await reader(store, folder);
  expect(await again.runs?.calls(named)).toHaveLength(2);
  expect(await differences(again, new RunFolder(folder, "run_1"))).toEqual([]);
});

it("adds no line twice when it was killed while it wrote the earlier ones", async () => {
  const store = postgres.newStore();
  await using g = await twoGateways(store);
  await g.a.invoke(echo("1"), named);
  const folder = runsFolder();
  const first = await reader(store, folder);
  expect(await first.runs?.calls(named)).toHaveLength(1);
  await first.close();
  rmSync(join(folder, "run_1/run.json")); // it is written last
  const again = await reader(store, folder);
  expect(await again.runs?.calls(named)).toHaveLength(1);
  expect(await differences(again, new RunFolder(folder, "run_1"))).toEqual([]);
});

it("makes no folder for a run that has no calls", async () => {
  const store = postgres.newStore();
  await using g = await twoGateways(store);
  await g.a.invoke(echo("1"), named);
  const folder = runsFolder();
  const late = await reader(store, folder);
  for (const runId of ["run_2", "run_20261120_0123456789ab", "run_99999999_0123456789ab"]) {
    expect(await late.runs?.get({ runId })).toBeUndefined();
    expect(await late.runs?.get({ ...named, tenant: "other" })).toBeUndefined();
    expect(existsSync(join(folder, runId))).toBe(false);
  }
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ToolOutcome } from "../../packages/core/src/outcome.ts";
import { ArtifactFixture, hourMs, report, writer } from "../fakes/artifact-fixture.ts";
import { probe } from "../fakes/probe.ts";
import { boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const dayMs = 24 * hourMs;
const reporting = probe({ name: "report", execute: () => report(1) });
const drawing = probe({
  name: "draw",
  execute: () => ({ content: [{ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }] }),
});

async function opened(options?: ConstructorParameters<typeof ArtifactFixture>[0]): Promise<ArtifactFixture> {
  const home = new ArtifactFixture(options);
  await home.open();
  return home;
}

const read = (home: ArtifactFixture, n: number, idempotencyKey?: string): Promise<ToolOutcome> =>
  home.runtime.invoke(
    { tool: "read", arguments: { n } },
    { ...writer, ...(idempotencyKey !== undefined && { idempotencyKey }) },
  );

async function approved(home: ArtifactFixture, args: Record<string, unknown>): Promise<string> {
  const held = await home.runtime.invoke({ tool: "publish", arguments: args as never }, writer);
  const id = held.approvalId ?? "";
  await home.runtime.approvals.decide(id, { decision: "approved", by: boss });
  return id;
}

describe("the lifetime of an artifact", () => {
  it("a direct result stays while its session is open and for the retention after, then is removed", async () => {
    await using home = await opened();
    const { artifact = "" } = await read(home, 1);
    await home.clock.advance(dayMs - 1);
    expect(await home.swept()).toEqual([artifact]);
    await home.clock.advance(1);
    expect(await home.swept()).toEqual([]);
  });

  it("an open session's answers stay, however old, until the session is closed", async () => {
    await using h = await runtimeFixture({ results: { retentionDays: 0 } }, reporting);
    const session = h.runtime.openSession({}, writer);
    const { artifact = "" } = await session.invoke({ tool: "report" });
    await h.clock.advance(3 * hourMs);
    expect(await h.runtime.artifacts.mayUse(artifact, writer.principal)).toBe(true);
    await session.close();
    await h.clock.advance(2 * hourMs);
    expect(await h.runtime.artifacts.mayUse(artifact, writer.principal)).toBe(false);
  });

  it("removes what a call stored if the call ended after its session", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    await using h = await runtimeFixture(
      { results: { retentionDays: 0 } },
      probe({ name: "report", execute: () => promise.then(() => report(1)) }),
    );
    const session = h.runtime.openSession({}, writer);
    const going = session.invoke({ tool: "report" });
    await h.clock.advance(1);
    await session.close();
    resolve();
    const { artifact = "" } = await going;
    expect(await h.runtime.artifacts.mayUse(artifact, writer.principal)).toBe(true);
    await h.clock.advance(2 * hourMs);
    expect(await h.runtime.artifacts.mayUse(artifact, writer.principal)).toBe(false);
  });

  it("the answer of a call with a key stays for ever: it is replayed after restarts and years", async () => {
    await using home = await opened();
    const first = await read(home, 1, "mine");
    await home.clock.advance(1000 * dayMs);
    expect(await home.swept()).toEqual([first.artifact]);
    const again = await read(home, 1, "mine");
    expect(again).toMatchObject({ status: "ok", replayed: true, artifact: first.artifact });
    const { bytes } = await home.runtime.artifacts.open(again.artifact ?? "", writer.principal);
    expect(Buffer.from(bytes).toString()).toBe(report(1));
  });

  it("what an open request refers to stays, and a late approval runs with it", async () => {
    await using home = await opened({
      approvals: { patience: "suspend", ttlMs: 3 * dayMs },
      results: { retentionDays: 0 },
    });
    const { digest } = await home.runtime.artifacts.put(Buffer.from("a letter"), "text/plain", writer.principal);
    const id = await approved(home, { text: { $artifact: digest } });
    await home.clock.advance(2 * dayMs);
    expect(await home.swept()).toEqual([digest]);
    expect((await home.runtime.resume(id))?.text).toBe("read 8");
  });

  it("what an undecided request referred to is removed", async () => {
    await using home = await opened({ results: { retentionDays: 0 } });
    const { digest } = await home.runtime.artifacts.put(Buffer.from("a letter"), "text/plain", writer.principal);
    await home.runtime.invoke({ tool: "publish", arguments: { text: { $artifact: digest } } }, writer);
    await home.clock.advance(hourMs);
    expect(await home.swept()).toEqual([]);
  });

  it("the answer of an approved call stays: every further resume returns it", async () => {
    await using home = await opened();
    const id = await approved(home, { n: 2 });
    const first = await home.runtime.resume(id);
    await home.clock.advance(30 * dayMs);
    expect(await home.swept()).toEqual([first?.artifact]);
    expect(await home.runtime.resume(id)).toMatchObject({ status: "ok", replayed: true, artifact: first?.artifact });
  });

  it("a resume and a keyed call say `result_unavailable` when the result is gone", async () => {
    await using home = await opened();
    const id = await approved(home, { n: 3 });
    const { artifact = "" } = (await home.runtime.resume(id)) ?? {};
    await read(home, 3, "mine");
    const folder = join(home.folder, "postern.db-files", "artifacts", artifact.slice(0, 2));
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    expect(await home.runtime.resume(id)).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
    expect(await read(home, 3, "mine")).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
    expect(await home.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it("media that is gone is reported in the same way", async () => {
    await using h = await runtimeFixture({}, drawing);
    const per = { ...writer, idempotencyKey: "mine" };
    const drawn = await h.runtime.invoke({ tool: "draw" }, per);
    expect(await h.runtime.invoke({ tool: "draw" }, per)).toMatchObject({ replayed: true, files: drawn.files });
    Object.assign(h.runtime.artifacts, { mayUse: () => false });
    expect((await h.runtime.invoke({ tool: "draw" }, per)).refusal?.code).toBe("result_unavailable");
  });

  it("the sweep runs by itself every hour, and reports when it cannot", async () => {
    const problems: string[] = [];
    await using h = await runtimeFixture(
      { results: { retentionDays: 0 }, log: (problem) => problems.push(problem) },
      reporting,
    );
    const { artifact = "" } = await h.runtime.invoke({ tool: "report" }, writer);
    await h.clock.advance(hourMs - 1);
    expect(await h.runtime.artifacts.open(artifact, writer.principal)).toBeDefined();
    await h.clock.advance(hourMs + 1);
    await expect(h.runtime.artifacts.open(artifact, writer.principal)).rejects.toMatchObject({
      code: "artifact_unavailable",
    });
    Object.assign(h.runtime.artifacts, { sweep: () => Promise.reject(new Error("no folder")) });
    await h.clock.advance(hourMs);
    expect(problems).toEqual([
      "Artifacts that are not needed could not be swept: no folder. It is tried again in an hour.",
    ]);
    await h.clock.advance(hourMs);
    expect(problems).toHaveLength(2);
  });

  it.each([-1, Number.NaN, "7"])("a retention of %j days is refused", async (retentionDays) => {
    await expect(runtimeFixture({ results: { retentionDays: retentionDays as number } })).rejects.toMatchObject({
      code: "options_invalid",
      message: expect.stringContaining("results.retentionDays"),
    });
  });
});

describe("a kill between the artifact and the row that refers to it", () => {
  it("leaves an orphan that is removed later, and never removes what a row refers to", async () => {
    await using home = new ArtifactFixture({ results: { retentionDays: 0 } });
    const child = spawn(process.execPath, ["--input-type=module", "-e", killed(home.folder)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
    expect(home.kept()).toHaveLength(2);
    const runtime = await home.open();
    const rows = await runtime.calls.list();
    expect(rows.map(({ state }) => state)).toEqual(["unknown", "ok"]);
    await home.clock.advance(Date.now() - home.clock.now() + dayMs);
    expect(await home.swept()).toEqual([rows[1]?.outcome?.artifact]);
    expect(await read(home, 1, "first")).toMatchObject({ replayed: true, status: "ok" });
  });
});

/** Makes two calls with keys; the process dies before it writes the outcome of the second. */
function killed(folder: string): string {
  const at = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);
  return `
    const { createRuntime, defineTool, SystemClock } = await import(${at("packages/postern/src/index.ts")});
    const { openSqliteStore } = await import(${at("packages/postern/src/store/sqlite/sqlite-store.ts")});
    const { killer, PointStore } = await import(${at("test/crash/points.ts")});
    const clock = new SystemClock();
    const location = ${JSON.stringify(join(folder, "postern.db"))};
    const file = openSqliteStore({ location, clock, serialize: (event) => JSON.stringify({ type: event.moment }) });
    const read = defineTool({ name: "read", description: "Reads.", risk: "high", effects: "write", idempotent: false, input: { type: "object" }, execute: ({ n }) => \`report \${n} \`.repeat(1000) });
    const store = new PointStore(file, killer("settle.before", 2));
    const runtime = await createRuntime({ store, clock, tools: [read], autonomy: "A4", folder: location + "-files", limits: { maxRiskUnapproved: "high" } });
    const principal = ${JSON.stringify(writer.principal)};
    for (const [n, idempotencyKey] of [[1, "first"], [2, "second"]])
      await runtime.invoke({ tool: "read", arguments: { n } }, { principal, idempotencyKey });`;
}

import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { differences } from "../fakes/projected-again.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const kills = Number(process.env["POSTERN_KILLS"] ?? 5);
const child = join(import.meta.dirname, "../crash/runs-child.ts");
const base = { ...asker, runId: "run_1" } as const;

async function runUntilKilled(
  folder: string,
  rounds: number,
  words: readonly string[] = [process.execPath],
): Promise<string> {
  const [command = "", ...more] = words;
  const living = spawn(command, [...more, child, folder], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  living.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  let made = 0;
  await new Promise<void>((resolve, reject) => {
    living.stdout.on("data", (dots: Buffer) => {
      made += dots.length;
      if (made >= rounds) resolve();
    });
    living.once("exit", () => reject(new Error(`it died by itself: ${output}`)));
  });
  living.kill("SIGKILL");
  await once(living, "exit");
  return output;
}

function reopened(folder: string): Promise<Runtime> {
  return createRuntime({ store: `sqlite:${join(folder, "postern.db")}`, archive: { folder: join(folder, "runs") } });
}

it(`files are valid after a kill, and equal the audit log after a restart (case 203), ${kills} times`, async () => {
  const folder = runsFolder();
  for (let life = 0; life < kills; life += 1) {
    await runUntilKilled(folder, 40 + ((life * 7919) % 53));
    {
      await using runtime = await reopened(folder);
      for (const runId of ["run_0", "run_1", "run_2"]) {
        const run = new RunFolder(join(folder, "runs"), runId);
        expect(run.isGapless).toBe(true);
        expect(await differences(runtime, run, { runId }), `${runId} in life ${life}`).toEqual([]);
        const ids = new Set(run.calls.map(({ call_id }) => call_id));
        expect(ids.size).toBe(run.calls.length);
      }
      expect(await runtime.audit.verify()).toMatchObject({ intact: true });
    }
  }
  const run = new RunFolder(join(folder, "runs"), "run_0");
  expect(run.calls.length).toBeGreaterThan(100);
}, 120_000);

it("a call that died while it ran gets its end from the audit log", async () => {
  const folder = runsFolder();
  await runUntilKilled(folder, 20);
  await using runtime = await reopened(folder);
  const unknown = await runtime.audit.query({ type: "tool_call.unknown", limit: 1_000 });
  for (const { refs } of unknown) {
    const run = new RunFolder(join(folder, "runs"), refs.run ?? "");
    expect(run.calls.find(({ call_id }) => call_id === refs.tool_call)).toMatchObject({
      status: "failed",
      recovered: true,
    });
  }
});

it("every lost line is projected again, wherever each file was torn", async () => {
  const store = `sqlite:${join(runsFolder(), "postern.db")}`;
  const folder = runsFolder();
  let position = "";
  {
    await using h = await runtimeFixture({ store, archive: { folder } });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "before" } }, base);
  }
  position = readFileSync(join(folder, ".position.json"), "utf8");
  {
    await using h = await runtimeFixture({ store, archive: { folder } });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
    await h.runtime.invoke({ tool: "nope", arguments: {} }, base);
    await h.runtime.invoke({ tool: "mail", arguments: { to: "b" } }, base);
    await h.runtime.invoke({ tool: "echo", arguments: { to: "c" } }, { ...base, runId: "run_2" });
  }
  // The state that a kill can leave: an old position in the log, files of different lengths, one run missing.
  writeFileSync(join(folder, ".position.json"), position);
  rmSync(join(folder, "run_2"), { recursive: true });
  const run = new RunFolder(folder, "run_1");
  const events = run.text("events.jsonl");
  truncateSync(run.file("events.jsonl"), Buffer.byteLength(events.split("\n").slice(0, 5).join("\n")) - 7);
  truncateSync(run.file("logs/tools.jsonl"), run.text("logs/tools.jsonl").indexOf("\n") + 20);
  appendFileSync(run.file("logs/errors.jsonl"), '{"half');
  {
    await using h = await runtimeFixture({ store, archive: { folder } });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "after" } }, base);
    await h.runtime.runs?.flush();
    expect(run.isGapless).toBe(true);
    expect(run.calls.map(({ tool_name, recovered }) => [tool_name, recovered])).toEqual([
      ["echo", undefined],
      ["echo", true],
      ["nope", true],
      ["echo", undefined],
    ]);
    expect(run.calls[1]?.args_digest).toMatch(/^[0-9a-f]{16}$/);
    // The events have the same bytes again. The log has no arguments and results of calls.
    expect(run.text("events.jsonl").slice(0, events.length)).toBe(events);
    expect(await differences(h.runtime, run)).toEqual([]);
    const other = new RunFolder(folder, "run_2");
    expect(await differences(h.runtime, other, { runId: "run_2" })).toEqual([]);
    expect(other.calls).toHaveLength(1);
  }
});

it("a new folder beside an old log has the earlier calls of a run that goes on, and those made while it was off", async () => {
  const store = `sqlite:${join(runsFolder(), "postern.db")}`;
  const folder = runsFolder();
  const run = new RunFolder(folder, "run_1");
  {
    await using h = await runtimeFixture({ store });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "before" } }, base);
  }
  {
    await using h = await runtimeFixture({ store, archive: { folder } });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "first" } }, base);
    expect(await differences(h.runtime, run)).toEqual([]);
    expect(run.calls).toHaveLength(2);
  }
  {
    await using h = await runtimeFixture({ store });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "while it was off" } }, base);
  }
  await using h = await runtimeFixture({ store, archive: { folder } });
  expect(await differences(h.runtime, run)).toEqual([]);
  expect(run.calls).toHaveLength(3);
});

it("a full disk is logged, breaks no call, tears no line, and loses nothing once there is room", async () => {
  const folder = runsFolder();
  const logged: string[] = [];
  await using h = await runtimeFixture({ archive: { folder }, log: (problem) => void logged.push(problem) });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "before" } }, base);
  await h.runtime.runs?.flush();
  // No file of this process may grow much beyond the present size of the run's events.
  const run = new RunFolder(folder, "run_1");
  const limit = Buffer.byteLength(run.text("events.jsonl")) + 300;
  const prlimit = async (size: string): Promise<number | null> => {
    const [code] = await once(spawn("prlimit", ["--pid", String(process.pid), `--fsize=${size}`]), "exit");
    return code;
  };
  expect(await prlimit(`${limit}:unlimited`)).toBe(0);
  try {
    for (const to of ["1", "2", "3"]) {
      expect((await h.runtime.invoke({ tool: "echo", arguments: { to } }, base)).status).toBe("ok");
      await h.runtime.runs?.flush();
    }
    expect(run.isGapless).toBe(true);
  } finally {
    expect(await prlimit("unlimited:unlimited")).toBe(0);
  }
  expect(logged.filter((line) => line.includes("cannot be written now"))).toHaveLength(1);
  await h.runtime.runs?.flush();
  expect(run.isGapless).toBe(true);
  expect(run.calls.map(({ args_summary }) => args_summary)).toEqual(
    ["before", "1", "2", "3"].map((to) => JSON.stringify({ to })),
  );
  expect(logged.at(-1)).toContain("can be written again");
  expect(await differences(h.runtime, run)).toEqual([]);
  expect(readdirSync(run.path)).not.toContain("run.json.new");
});

it("a folder that was removed during use is made again, and holds what comes after", async () => {
  const folder = runsFolder();
  await using h = await runtimeFixture({ archive: { folder } });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  await h.runtime.runs?.flush();
  rmSync(join(folder, "run_1"), { recursive: true });
  expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "b" } }, base)).status).toBe("ok");
  const run = new RunFolder(folder, "run_1");
  expect(await differences(h.runtime, run)).toContainEqual(expect.stringContaining("has no line"));
  expect(run.calls.map(({ args_summary }) => args_summary)).toEqual(['{"to":"b"}']);
});

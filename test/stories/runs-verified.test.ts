import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunVerification } from "../../src/observe/index.ts";
import { runsFolder } from "../fakes/run-folder.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const name = { runId: "run_1" };
const base = { ...asker, runId: "run_1" } as const;

let h: RuntimeFixture;
const folder = runsFolder();
const run = join(folder, "run_1");
const good = join(runsFolder(), "good");

/** Makes one run with all kinds of events: begun, asked, approved, refused, failed, finished, sealed. */
beforeAll(async () => {
  h = await runtimeFixture({ archive: { folder } }, [
    {
      ...{ name: "failing", description: "Fails.", risk: "safe", effects: "read", idempotent: true },
      input: { type: "object" },
      execute: () => Promise.reject(new Error("no luck")),
    },
  ]);
  const { runtime } = h;
  await runtime.runs?.begin(name, { prompt: "Do it.", transcript: "# Said", deliverables: ["report.md"] });
  writeFileSync(join(run, "deliverables/report.md"), "# Report\n");
  for (const to of ["one", "two", "three"]) await runtime.invoke({ tool: "echo", arguments: { to } }, base);
  await runtime.invoke({ tool: "failing", arguments: {} }, base);
  await runtime.invoke({ tool: "nope", arguments: {} }, base);
  const asked = await runtime.invoke({ tool: "mail", arguments: { to: "four" } }, base);
  await runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: boss });
  await runtime.resume(asked.approvalId ?? "");
  await runtime.runs?.finish(name);
  cpSync(run, good, { recursive: true });
});
afterAll(() => h.runtime.close());

async function after(change: () => void): Promise<RunVerification> {
  rmSync(run, { recursive: true });
  cpSync(good, run, { recursive: true });
  change();
  const found = await h.runtime.runs?.verify(name);
  if (found === undefined) throw new Error("no run");
  return found;
}

function edit(file: string, how: (lines: string[]) => string[]): () => void {
  return () => {
    const lines = readFileSync(join(run, file), "utf8").split("\n").slice(0, -1);
    writeFileSync(
      join(run, file),
      how(lines)
        .map((line) => `${line}\n`)
        .join(""),
    );
  };
}

function sentences({ problems }: RunVerification): string {
  return problems.map(({ file, line, why }) => `${file}${line === undefined ? "" : `:${line}`}: ${why}`).join("\n");
}

it("finds nothing in an untouched folder", async () => {
  const found = await after(() => {});
  expect(found).toMatchObject({ intact: true, problems: [], notes: [], calls: 6 });
  expect(found.sealed).toBe(found.events);
});

const renumbered = (lines: string[]): string[] =>
  lines.map((line, i) => line.replace(/"sequence":\d+/, `"sequence":${i + 1}`));

describe.each<readonly [what: string, change: () => void, named: RegExp]>([
  [
    "an edited summary",
    edit("events.jsonl", (l) => l.map((t) => t.replace("`echo` completed", "`echo` was good as"))),
    /events\.jsonl: its first \d+ bytes .* edited/,
  ],
  [
    "an edited result",
    edit("logs/tools.jsonl", (l) => l.map((t) => t.replace("to two", "to six"))),
    /logs\/tools\.jsonl: its first .* edited/,
  ],
  [
    "a tool under another name",
    edit("logs/tools.jsonl", (l) =>
      l.map((t, i) => (i === 1 ? t.replace('"tool_name":"echo"', '"tool_name":"mail"') : t)),
    ),
    /logs\/tools\.jsonl:2: its tool_name is mail; it was echo/,
  ],
  [
    "a failure changed to a success",
    edit("logs/tools.jsonl", (l) => l.map((t) => t.replace('"status":"failed"', '"status":"completed"'))),
    /logs\/tools\.jsonl:4: its status is completed; it was failed/,
  ],
  [
    "another time",
    edit("events.jsonl", (l) => l.map((t, i) => (i === 4 ? t.replace(/"timestamp":"2026/, '"timestamp":"2025') : t))),
    /events\.jsonl:5: its timestamp is 2025/,
  ],
  [
    "other arguments",
    edit("logs/tools.jsonl", (l) =>
      l.map((t, i) => (i === 0 ? t.replace(/"args_digest":"..../, '"args_digest":"0000') : t)),
    ),
    /logs\/tools\.jsonl:1: its args_digest is 0000/,
  ],
  [
    "the last lines cut off",
    edit("events.jsonl", (l) => l.slice(0, -3)),
    /events\.jsonl: it has \d+ bytes; \d+ were sealed at .*: it was cut or edited/,
  ],
  [
    "a removed line of a call",
    edit("logs/tools.jsonl", (l) => l.toSpliced(1, 1)),
    /logs\/tools\.jsonl: the line for `call_[^`]+` is missing \(entry \d+/,
  ],
  [
    "a removed event",
    edit("events.jsonl", (l) => l.toSpliced(4, 1)),
    /events\.jsonl:5: sequence 6 stands where 5 was expected/,
  ],
  [
    "a removed event and renumbered others",
    edit("events.jsonl", (l) => renumbered(l.toSpliced(4, 1))),
    /events\.jsonl: the line for `tool_call\.\w+` of `call_[^`]+` is missing/,
  ],
  [
    "two events that changed places",
    edit("events.jsonl", (l) => l.with(4, l[6] ?? "").with(6, l[4] ?? "")),
    /events\.jsonl:5: sequence 7 stands where 5 was expected/,
  ],
  [
    "two events that changed places and numbers",
    edit("events.jsonl", (l) => renumbered(l.with(4, l[6] ?? "").with(6, l[4] ?? ""))),
    /events\.jsonl:\d: it stands after lines of later entries/,
  ],
  [
    "two calls that changed places",
    edit("logs/tools.jsonl", (l) => l.with(0, l[1] ?? "").with(1, l[0] ?? "")),
    /logs\/tools\.jsonl:2: it stands after lines of later entries/,
  ],
  [
    "a line twice",
    edit("logs/tools.jsonl", (l) => [...l, l[0] ?? ""]),
    /logs\/tools\.jsonl:7: no entry of the audit log has this line/,
  ],
  [
    "an invented call",
    edit("events.jsonl", (l) => renumbered([...l, (l[4] ?? "").replaceAll(/call_[0-9a-f-]+/g, "call_invented")])),
    /events\.jsonl:\d+: no entry of the audit log has this line/,
  ],
  [
    "a removed line of an error",
    edit("logs/errors.jsonl", (l) => l.slice(1)),
    /logs\/errors\.jsonl: the line for `call_[^`]+` is missing/,
  ],
  [
    "a torn last line",
    () => writeFileSync(join(run, "events.jsonl"), readFileSync(join(run, "events.jsonl")).subarray(0, -9)),
    /events\.jsonl:\d+: the last line is cut off/,
  ],
  ["a line that is no JSON", edit("events.jsonl", (l) => l.with(3, "hello")), /events\.jsonl:4: it is no line of ours/],
  [
    "a line of 10 MB",
    edit("logs/tools.jsonl", (l) => l.with(0, `{"x":"${"y".repeat(10_000_000)}"}`)),
    /logs\/tools\.jsonl:1: it is longer than a line of ours can be/,
  ],
  ["a missing file", () => rmSync(join(run, "logs/tools.jsonl")), /logs\/tools\.jsonl: it cannot be read/],
  [
    "a deliverable that was changed",
    () => writeFileSync(join(run, "deliverables/report.md"), "# Another\n"),
    /deliverables\/report\.md: it is not what the manifest lists/,
  ],
  [
    "a missing deliverable",
    () => rmSync(join(run, "deliverables/report.md")),
    /deliverables\/report\.md: the manifest lists it; it is missing/,
  ],
  [
    "a deliverable that was added",
    () => writeFileSync(join(run, "deliverables/more.md"), ""),
    /deliverables\/more\.md: the manifest does not list it/,
  ],
  [
    "a changed manifest",
    () => writeFileSync(join(run, "artifact-manifest.json"), '{"deliverables":[]}'),
    /artifact-manifest\.json: it is not what was sealed/,
  ],
  [
    "a changed prompt",
    () => writeFileSync(join(run, "prompt.md"), "Do something else."),
    /prompt\.md: it is not what was sealed/,
  ],
  [
    "a transcript that was shortened",
    () => writeFileSync(join(run, "transcript.md"), "#"),
    /transcript\.md: it is not what was sealed/,
  ],
  [
    "another end in run.json",
    () =>
      writeFileSync(
        join(run, "run.json"),
        readFileSync(join(run, "run.json"), "utf8").replace('"completed",\n', '"failed",\n'),
      ),
    /run\.json: it says failed; the events say completed/,
  ],
  ["an invalid run.json", () => writeFileSync(join(run, "run.json"), "[]"), /run\.json: it is no summary of ours/],
])("%s", (_, change, named) => {
  it("is found and named", async () => {
    const found = await after(change);
    expect(found.intact).toBe(false);
    expect(sentences(found)).toMatch(named);
    expect(found.problems.length).toBeLessThanOrEqual(100);
  });
});

it("names what it cannot compare: a store without a log", async () => {
  const bare = runsFolder();
  await using other = await runtimeFixture({ archive: { folder: bare }, store: "memory" });
  await other.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  const found = await other.runtime.runs?.verify(name);
  expect(found?.notes.length).toBeGreaterThan(0);
});

it("verifies a run that is being written", async () => {
  const live = runsFolder();
  await using other = await runtimeFixture({ archive: { folder: live } });
  const calls = Array.from({ length: 200 }, (_, i) =>
    other.runtime.invoke({ tool: "echo", arguments: { to: `${i}` } }, base),
  );
  const found = await Promise.all([calls[0]?.then(() => other.runtime.runs?.verify(name)), ...calls]);
  expect(found[0]).toMatchObject({ intact: true, problems: [] });
  expect(await other.runtime.runs?.verify(name)).toMatchObject({ intact: true, calls: 200, problems: [] });
});

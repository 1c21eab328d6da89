/**
 * `npm run proof -- backup [--calls N] [--open N] [--drills N] [--pace MS]`: makes calls and open requests, then takes backups while
 * calls go on. Each one must be whole and hold every outcome and every request that was answered before it was begun.
 */
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { z } from "zod";
import { unpackBackup } from "../../packages/postern/src/backup/read-backup.ts";
import { createRuntime, defineTool } from "../../packages/postern/src/index.ts";
import { StoredCopy } from "../../packages/postern/src/store/sqlite/stored-copy.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "10000" },
    open: { type: "string", default: "200" },
    drills: { type: "string", default: "5" },
    pace: { type: "string", default: "8" },
  },
});
const [calls, open, drills] = [values.calls, values.open, values.drills].map(Number) as [number, number, number];
const atOnce = 64;
/** What each of the callers rests between two calls, because the store would grow faster than it can be checked. */
const paceMs = Number(values.pace);
const by = { by: "operator", via: "token:operator" };
const input = z.object({ number: z.number() });
const tools = [
  defineTool({
    ...{ name: "count", description: "Counts.", risk: "safe", idempotent: true, input },
    execute: ({ number }) => `counted ${number}`,
  }),
  defineTool({
    ...{ name: "ask", description: "Asks.", risk: "high", idempotent: false, input },
    execute: () => "asked",
  }),
];

const folder = mkdtempSync(join(tmpdir(), "postern-backup-"));
const problems: string[] = [];
let made = 0;
let asked = 0;
/** The last calls and requests that were answered. */
const [done, waiting] = [[] as string[], [] as string[]];

try {
  await using runtime = await createRuntime({
    ...{ folder, store: `sqlite:${join(folder, "postern.db")}`, tools },
    approvals: { patience: "suspend", ttlMs: 86_400_000, maxOpenPerAgent: open + drills * 10_000 },
    limits: { maxToolCalls: Number.MAX_SAFE_INTEGER },
    audit: { recheck: { enabled: false } },
  });
  const call = async (): Promise<void> => {
    made += 1;
    const { callId, status } = await runtime.invoke({ tool: "count", arguments: { number: made } });
    if (status !== "ok") problems.push(`a call ended as ${status}`);
    done.push(callId);
    if (done.length > 2 * atOnce) done.splice(0, atOnce);
  };
  const ask = async (): Promise<void> => {
    asked += 1;
    const { approvalId, status } = await runtime.invoke({ tool: "ask", arguments: { number: asked } });
    if (status !== "pending" || approvalId === undefined) problems.push(`a request ended as ${status}`);
    else waiting.push(approvalId);
  };
  const seconds = timer();
  await times(calls, call);
  await times(open, ask);
  say(`${calls} calls and ${open} open requests in ${seconds()} s`);

  let isLoaded = true;
  const load = Array.from({ length: 8 }, async () => {
    while (isLoaded) {
      await call();
      await setTimeout(paceMs);
      if (made % 200 === 0) await ask();
    }
  });
  const took: number[] = [];
  const checks: number[] = [];
  for (let drill = 1; drill <= drills && problems.length === 0; drill += 1) {
    const before = { calls: [...done], requests: [...waiting], made };
    const [file, to] = [join(folder, "drill.tar"), join(folder, "drill")];
    const made_ = timer();
    await pipeline(runtime.storage.backup(by), createWriteStream(file));
    took.push(made_());
    const checked_ = timer();
    mkdirSync(to);
    const checked = await unpackBackup(file, to, { now: Date.now() });
    checks.push(checked_());
    using copy = new StoredCopy(join(to, "postern.db"));
    const found = new Set([...copy.waiting()].map(({ request }) => request.id));
    const lost = before.requests.filter((id) => !found.has(id));
    if (lost.length > 0)
      problems.push(`drill ${drill}: ${lost.length} requests are not in the backup, first ${lost[0]}`);
    const gone = before.calls.filter((id) => copy.call(id)?.outcome === undefined);
    if (gone.length > 0)
      problems.push(`drill ${drill}: ${gone.length} outcomes are not in the backup, first ${gone[0]}`);
    if (drill === 1 || drill === drills)
      say(
        `drill ${drill}: ${statSync(file).size} bytes, ${checked.events} events, ${found.size} requests; ${made - before.made} calls meanwhile`,
      );
    rmSync(to, { recursive: true });
    rmSync(file);
  }
  isLoaded = false;
  await Promise.all(load);
  say(`${took.length} drills; a backup took ${middle(took)} s, its check ${middle(checks)} s`);
  if (took.length < drills) problems.push(`only ${took.length} of ${drills} drills were made`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const problem of problems) say(`PROBLEM ${problem}`);
if (problems.length === 0) say("nothing that was answered is missing, every log is intact");
process.exitCode = problems.length === 0 ? 0 : 1;

async function times(count: number, one: () => Promise<void>): Promise<void> {
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await one();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function timer(): () => number {
  const began = performance.now();
  return () => Math.round((performance.now() - began) / 10) / 100;
}

function middle(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

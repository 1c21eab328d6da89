/**
 * `npm run bench -- workers`: what a worker adds to a call: the same tool here and on a worker, alternating in one run, with
 * a real NATS server (`nats-server`) and the store on a file. Exit code 1 if it adds more than the bar.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "../packages/postern/src/index.ts";
import { loadWorkerKey } from "../packages/postern/src/workers/worker-key.ts";
import { NatsServer } from "../test/fakes/nats-server.ts";
import { median, percentile } from "./harness.ts";

const barMs = 3;
const rounds = 5;
const calls = 200;
const inFlight = 64;

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "postern-bench-workers-"));
const definition = {
  description: "Adds.",
  risk: "medium",
  effects: "write",
  idempotent: false,
  inputSchema: { type: "object" },
};
writeFileSync(
  join(folder, "tools.ts"),
  `import { defineTool } from ${JSON.stringify(join(root, "packages/postern/src/tools/define.ts"))};
export const there = defineTool({ name: "there", ...${JSON.stringify(definition)}, execute: ({ n }) => "did " + n });\n`,
);
await using nats = await NatsServer.started();
mkdirSync(join(folder, "worker"), { mode: 0o700 });
const [gatewayKey, workerKey] = await Promise.all([loadWorkerKey(folder), loadWorkerKey(join(folder, "worker"))]);
writeFileSync(
  join(folder, "postern.yaml"),
  `data: ./worker\nworkers:\n  nats: { url: "${nats.url}" }\n  keys: { g: ${gatewayKey.publicKey} }\n  max_running: ${inFlight}\n`,
);
const words = [join(root, "packages/postern/bin/postern.js"), "worker", "--group", "bench", "--tools", "./tools.ts"];
const worker = spawn(process.execPath, words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
await once(worker.stdout, "data");
const tool = (name: string) =>
  defineTool({
    ...(definition as typeof definition & { readonly risk: "medium"; readonly effects: "write" }),
    name,
    execute: ({ n }: { n?: number }) => `did ${n}`,
  });
const runtime = await createRuntime({
  ...{ tools: [tool("here"), tool("there")], store: `sqlite:${join(folder, "bench.db")}`, folder },
  limits: { maxRiskUnapproved: "high" },
  workers: {
    nats: { url: nats.url },
    keys: { w: workerKey.publicKey },
    groups: { bench: { tools: ["there"], workers: ["w"] } },
  },
});
while (runtime.tools.unavailable({ tool: "there", facts: {} }) !== undefined)
  await new Promise((next) => setImmediate(next));

let count = 0;
async function timed(name: string): Promise<number> {
  count += 1;
  const began = performance.now();
  const outcome = await runtime.invoke({ tool: name, arguments: { n: count } });
  if (outcome.status !== "ok") throw new Error(outcome.text);
  return performance.now() - began;
}

const times: Readonly<Record<"here" | "there", { readonly single: number[]; readonly perSecond: number[] }>> = {
  here: { single: [], perSecond: [] },
  there: { single: [], perSecond: [] },
};
for (let round = 0; round <= rounds; round += 1)
  for (const name of ["here", "there"] as const) {
    const single: number[] = [];
    for (let i = 0; i < calls; i += 1) single.push(await timed(name));
    const began = performance.now();
    let left = calls * 5;
    const caller = async (): Promise<void> => {
      while (left-- > 0) await timed(name);
    };
    await Promise.all(Array.from({ length: inFlight }, caller));
    if (round === 0) continue; // the first round warms both up
    times[name].single.push(...single);
    times[name].perSecond.push((calls * 5000) / (performance.now() - began));
  }
for (const [name, { single, perSecond }] of Object.entries(times))
  console.log(
    `${name}: p50 ${median(single).toFixed(2)} ms, p99 ${percentile(single, 0.99).toFixed(2)} ms, ${Math.round(median(perSecond))} calls a second with ${inFlight} in flight`,
  );
const addedMs = median(times.there.single) - median(times.here.single);
console.log(`a worker adds ${addedMs.toFixed(2)} ms (p50); the bar is ${barMs} ms`);
await runtime.close();
worker.kill("SIGTERM");
await once(worker, "close");
rmSync(folder, { recursive: true, force: true });
process.exitCode = addedMs <= barMs ? 0 : 1;

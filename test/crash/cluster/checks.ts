import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { compileCache } from "../../setup/compile-cache.ts";
import { sourcesInProcesses } from "../../setup/sources.ts";
import { type Cluster, type Gateway, storeLeaseMs } from "./cluster.ts";
import type { Call, Load } from "./load.ts";

/** What a dead gateway left is looked for once a lease, so it takes up to two. */
export const endsWithinMs: number = 2 * storeLeaseMs + 15_000;
const inFlight = 8;

/** What was counted of the calls of a round. */
export interface Counted {
  effects: number;
  unknown: number;
  /** Runs beyond the first of calls that may run again. */
  repeated: number;
}

export interface ChecksOptions {
  readonly cluster: Cluster;
  readonly load: Load;
  readonly problem: (call: Call | undefined, what: string) => void;
}

/** Asks each gateway again for each end that a client was told, and compares the ends with the ledger. */
export async function checkCalls(calls: readonly Call[], { cluster, load, problem }: ChecksOptions): Promise<void> {
  const left = calls.flatMap((call) => cluster.gateways.map((gateway) => ({ call, gateway })));
  const look = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { call, gateway } = next;
      const end = await askedAgain(load, call, gateway);
      if (end === undefined) problem(call, `${gateway.program.name} gives no end of it`);
      else if (end.as === "unknown" && call.end?.as !== "unknown")
        problem(call, `was ${call.end?.as}, and is unknown on ${gateway.program.name}`);
      else load.take(call, end, gateway.program.name);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, look));
}

async function askedAgain(load: Load, call: Call, gateway: Gateway): ReturnType<Load["send"]> {
  for (let tries = 0; tries < 5; tries += 1) {
    const end = await load.send(call, gateway);
    if (end !== undefined) return end;
    await pause(1_000);
  }
  return undefined;
}

/** No call runs twice, unless it may; what is said to be done is done, and what is denied is not. */
export function checkEffects(calls: readonly Call[], { cluster, problem }: ChecksOptions): Counted {
  const runs = Map.groupBy(cluster.effects(), ({ bill }) => bill);
  const counted: Counted = { effects: 0, unknown: 0, repeated: 0 };
  for (const call of calls) {
    const { bill, tool, end } = call;
    const ran = runs.get(bill)?.length ?? 0;
    counted.effects += ran;
    if (end?.as === "unknown") counted.unknown += 1;
    if (tool.startsWith("note")) counted.repeated += Math.max(0, ran - 1);
    else if (ran > 1) problem(call, `ran ${ran} times`);
    if (end?.as === "ok" && ran === 0) problem(call, "is said to be done, and was not");
    if (end?.as === "denied" && ran > 0) problem(call, "was denied, and ran");
    if (call.isDecided === true && call.decision === "deny" && end?.as !== "denied")
      problem(call, `was denied by a person, and is ${end?.as}`);
  }
  return counted;
}

/** Nothing runs, nothing waits, and every gateway has the same log, which verifies. */
export async function checkGateways({ cluster, problem }: ChecksOptions): Promise<void> {
  for (const gateway of cluster.gateways) {
    const { name } = gateway.program;
    for (const path of ["/v1/calls?state=attempted", "/v1/approvals?state=pending"]) {
      const { body } = await cluster.ask(gateway, path, { patienceMs: 30_000 });
      const left = (body["calls"] ?? body["approvals"] ?? [body]) as readonly unknown[];
      if (left.length > 0) problem(undefined, `${name} still has ${path}: ${JSON.stringify(left).slice(0, 2_000)}`);
    }
  }
  const verify = async (gateway: Gateway): Promise<string> => {
    const { body } = await cluster.ask(gateway, "/v1/audit/verify", { patienceMs: 120_000 });
    if (body["outcome"] !== "ok") problem(undefined, `${gateway.program.name}: the log: ${JSON.stringify(body)}`);
    return `${String(body["events"])} ${String(body["head"])}`;
  };
  let heads: readonly string[] = [];
  for (let tries = 0; tries < 10; tries += 1) {
    heads = await Promise.all(cluster.gateways.map(verify));
    if (new Set(heads).size === 1) return;
    await pause(1_000); // a gateway may note something at any time
  }
  problem(undefined, `the gateways have different logs: ${heads.join(", ")}`);
}

/** The exported log, checked by a process that knows only the public key. Then each gateway's own log, while none runs. */
export async function checkOffline({ cluster, problem }: ChecksOptions): Promise<void> {
  const [first] = cluster.gateways;
  if (first === undefined) return;
  const file = join(cluster.folder, "exported-log");
  writeFileSync(file, await cluster.export(first));
  const key = join(cluster.folder, first.program.name, ".postern/audit.pub");
  await cluster.stopPrograms();
  const checks = [
    { name: first.program.name, words: [file, "--public-key", key] },
    ...cluster.gateways.map(({ program }) => ({ name: program.name, words: [] })),
  ];
  for (const { name, words } of checks) {
    const { code, out } = await postern(join(cluster.folder, name), ["audit", "verify", ...words]);
    if (code !== 0)
      problem(undefined, `\`postern audit verify ${words.join(" ")}\` in ${name} ends with ${code}: ${out}`);
  }
}

interface LogEvent {
  readonly seq: number;
  readonly timestamp: string;
  readonly summary: string;
  readonly refs: { readonly tool_call?: string };
}

/** What the log says of a call, if a gateway can still be asked. */
export async function lastEvents({ bill }: Call, cluster: Cluster): Promise<readonly string[]> {
  for (const gateway of cluster.gateways)
    try {
      const { body } = await cluster.ask(gateway, `/v1/calls?search=${bill}&limit=100`);
      const calls = body["calls"] as readonly { readonly idempotency_key: string; readonly key: string }[];
      const key = calls.find((one) => one.idempotency_key === bill)?.key;
      if (key === undefined) return [];
      const { events } = (await cluster.ask(gateway, `/v1/audit/latest?text=${key}&limit=20`)).body;
      return (events as readonly LogEvent[])
        .map(({ seq, timestamp, summary, refs }) => `${seq} ${timestamp} ${refs.tool_call ?? ""} ${summary}`)
        .toReversed();
    } catch {} // the other one may answer
  return [];
}

const bin = join(import.meta.dirname, "../../../packages/postern/bin/postern.js");

function postern(
  cwd: string,
  words: readonly string[],
): Promise<{ readonly code: number | null; readonly out: string }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly code: number | null; readonly out: string }>();
  const child = spawn(process.execPath, [bin, ...words], {
    cwd,
    env: { ...process.env, ...compileCache, ...sourcesInProcesses },
  });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.on("close", (code) => resolve({ code, out }));
  return promise;
}

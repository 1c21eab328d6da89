/**
 * `npm run crash -- --store postgres --gateways 2 --workers 1 [--faults N] [--seed S]`: real gateways, a worker, PostgreSQL
 * and NATS; kills, partitions and stops under load. After each round of faults all is healed and checked: no effect twice,
 * no acknowledged end lost or changed, nothing stuck, one log that verifies. Exits with 1 if something is wrong.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ClusterRun } from "../options.ts";
import {
  type ChecksOptions,
  checkCalls,
  checkEffects,
  checkGateways,
  checkOffline,
  endsWithinMs,
  lastEvents,
} from "./checks.ts";
import { Cluster } from "./cluster.ts";
import { Faults } from "./faults.ts";
import { type Call, Load } from "./load.ts";
import { Random } from "./random.ts";

const faultsARound = 10;
const clients = 16;
/** A fault comes after so many calls since the one before, or after so long: on a slow machine too, it meets calls. */
const [callsBefore, mostWaitMs] = [5, 4_000];
/** Ends of earlier rounds are asked for again at the end: so many of each. */
const keptOfARound = 20;
/** Shown of a failure. */
const [mostFaults, mostProblems] = [60, 10];

interface Problem {
  /** Undefined if it is of the whole cluster. */
  readonly call: Call | undefined;
  readonly what: string;
}

/** @returns the exit code */
export async function runCluster({ gateways, workers, faults: wanted, seed }: ClusterRun): Promise<number> {
  const began = performance.now();
  const random = new Random(seed);
  const happened: string[] = [];
  const problems: Problem[] = [];
  const note = (what: string): void => {
    happened.push(`${new Date().toISOString().slice(11, 23)} ${what}`);
    if (happened.length > mostFaults) happened.shift();
  };
  const problem = (call: Call | undefined, what: string): void => void problems.push({ call, what });
  const cluster = await Cluster.started({ gateways, workers }, (how) => problem(undefined, how));
  const load = new Load({
    cluster,
    clients: Array.from({ length: clients }, (_, i) => new Random(seed + 1 + i)),
    person: new Random(seed + 1 + clients),
    problem,
  });
  const faults = new Faults({ cluster, random, note, problem: (what) => problem(undefined, what) });
  const checks: ChecksOptions = { cluster, load, problem };
  const total = { faults: 0, calls: 0, effects: 0, unknown: 0, repeated: 0 };
  const kept: Call[] = [];
  const stopAtSignal = (): void => {
    void cluster[Symbol.asyncDispose]().finally(() => process.exit(1));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stopAtSignal);
  try {
    for (let round = 1; total.faults < wanted && problems.length === 0; round += 1) {
      load.start(`r${round}`);
      const many = Math.min(faultsARound, wanted - total.faults);
      for (let n = 0; n < many; n += 1) {
        await pause(random.between(200, 2_000));
        await someCalls(load);
        await faults.begin();
      }
      total.faults += many;
      await faults.healed();
      note("all is healed");
      for (const call of await load.stop(endsWithinMs))
        problem(call, `has no end ${endsWithinMs} ms after the last fault`);
      await faults.healed();
      const calls = [...load.calls.values()];
      await checkCalls(
        calls.filter(({ end }) => end !== undefined),
        checks,
      );
      const counted = checkEffects(calls, checks);
      await checkGateways(checks);
      total.calls += calls.length;
      for (const name of ["effects", "unknown", "repeated"] as const) total[name] += counted[name];
      kept.push(...random.shuffled(calls.filter(({ end }) => end !== undefined)).slice(0, keptOfARound));
      console.log(
        `round ${round}: ${total.faults} faults, ${calls.length} calls, ${counted.effects} effects, ${counted.unknown} unknown, ${counted.repeated} repeated, ${Math.round((performance.now() - began) / 1000)} s`,
      );
    }
    if (problems.length === 0) await checkCalls(kept, checks);
    if (problems.length === 0) await checkOffline(checks);
  } catch (error) {
    problem(undefined, `the run itself failed: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    for (const one of problems.slice(0, mostProblems)) await describe(one, cluster);
    faults.stop();
    await cluster[Symbol.asyncDispose]();
  }
  if (total.effects === 0) problem(undefined, "no effect was recorded: the calls did nothing");
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `faults: ${[...faults.counts].map(([kind, count]) => `${kind} ${count}`).join(", ")}; ${faults.restarts} restarts of gateways that said that they were broken`,
  );
  console.log(
    `${total.faults} faults, ${total.calls} calls, ${total.effects} effects, ${total.unknown} unknown, ${total.repeated} repeated, ${seconds} s, seed ${seed}`,
  );
  if (problems.length === 0) {
    cluster.remove();
    return 0;
  }
  console.log(
    `${problems.length} problems. The last faults:\n${happened.join("\n")}\nAll is left in ${cluster.folder}. Again: --faults ${wanted} --seed ${seed}`,
  );
  return 1;
}

/** Prints it, with what the client saw of the call, and what the log says of it. */
async function describe({ call, what }: Problem, cluster: Cluster): Promise<void> {
  console.log(`PROBLEM ${call === undefined ? "" : `the call ${call.bill} `}${what}`);
  if (call === undefined) return;
  console.log(`  ${JSON.stringify({ ...call, at: undefined, trace: undefined })}\n  ${call.trace.join("\n  ")}`);
  for (const line of await lastEvents(call, cluster)) console.log(`  log: ${line}`);
}

async function someCalls(load: Load): Promise<void> {
  const enough = load.ended + callsBefore;
  const until = performance.now() + mostWaitMs;
  while (load.ended < enough && performance.now() < until) await pause(20);
}

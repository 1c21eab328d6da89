import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOnFile, together } from "./durable.ts";
import { median } from "./harness.ts";

export interface DurableRow {
  readonly who: string;
  readonly what: string;
  readonly stepsPerSecond?: number;
  readonly slowest?: number;
  readonly fastest?: number;
  readonly problem?: string;
}

/** A peer with a server of its own; both run whole, `long` in so many steps. */
interface Peer {
  readonly who: string;
  readonly stepsOfLong: number;
  readonly open: (folder: string) => Promise<{
    readonly short: (i: number) => Promise<unknown>;
    readonly long: (i: number) => Promise<unknown>;
    readonly close: () => Promise<void>;
  }>;
}

interface Runner {
  readonly who: string;
  readonly what: string;
  /** Steps a second of one round. */
  readonly round: () => Promise<number>;
}

const shortRuns = 320;
const longRuns = 96;
const ourCalls = 5_000;

/**
 * One durable step that does nothing, on peers that keep steps and on our path, in turns on one machine. Peers are run as
 * one step a workflow, as a tool call is, and as many steps a workflow, which is what they are best at.
 */
export async function durablePeers(options: {
  readonly rounds: number;
  readonly inFlight: number;
}): Promise<readonly DurableRow[]> {
  const { peers } = (await import("./peers/durable-rows.mjs")) as { readonly peers: readonly Peer[] };
  const folder = mkdtempSync(join(tmpdir(), "postern-bench-"));
  chmodSync(folder, 0o755); // PostgreSQL runs as a user of its own
  await using closing = new AsyncDisposableStack();
  closing.defer(() => rmSync(folder, { recursive: true, force: true }));
  const rows: DurableRow[] = [];
  const runners = await ours(folder, options.inFlight, closing);
  for (const peer of peers) {
    try {
      runners.push(...(await opened(peer, folder, options.inFlight, closing)));
    } catch (error) {
      rows.push({ who: peer.who, what: "", problem: String(error).split("\n")[0] ?? "failed" });
    }
  }
  return [...(await inTurns(runners, options.rounds)), ...rows];
}

async function ours(folder: string, inFlight: number, closing: AsyncDisposableStack): Promise<Runner[]> {
  const usual = closing.use(await openOnFile(join(folder, "usual.db")));
  const strict = closing.use(await openOnFile(join(folder, "strict.db"), "strict"));
  return [
    {
      who: "Postern",
      what: "a call above `safe`: the claim is synced before the tool runs",
      round: () => together(usual, ourCalls, inFlight),
    },
    {
      who: "Postern",
      what: "the same, strict: the outcome is synced as well",
      round: () => together(strict, ourCalls, inFlight),
    },
  ];
}

async function opened(
  { who, stepsOfLong, open }: Peer,
  folder: string,
  inFlight: number,
  closing: AsyncDisposableStack,
): Promise<readonly Runner[]> {
  const { short, long, close } = await open(folder);
  closing.defer(close);
  return [
    { who, what: "a workflow of one step", round: () => rate(short, shortRuns, inFlight) },
    {
      who,
      what: `a workflow of ${stepsOfLong} steps, a step`,
      round: async () => stepsOfLong * (await rate(long, longRuns, inFlight)),
    },
  ];
}

async function inTurns(runners: readonly Runner[], rounds: number): Promise<readonly DurableRow[]> {
  const rates = new Map<Runner, number[]>(runners.map((runner) => [runner, []]));
  for (const { round } of runners) await round(); // the first is not like the others: connections, compiled code
  for (let i = 0; i < rounds; i += 1) {
    for (const [{ round }, measured] of rates) measured.push(await round());
  }
  return [...rates].map(([{ who, what }, measured]) => ({
    who,
    what,
    stepsPerSecond: median(measured),
    slowest: Math.min(...measured),
    fastest: Math.max(...measured),
  }));
}

async function rate(run: (i: number) => Promise<unknown>, runs: number, inFlight: number): Promise<number> {
  let next = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (next < runs) await run(next++);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (runs * 1000) / (performance.now() - began);
}

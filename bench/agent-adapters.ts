/** What an adapter adds to a call: with Postern, minus the library alone, minus a bare `invoke` of the same context. */
import { createRuntime } from "../packages/postern/src/index.ts";
import type { AnyTool } from "../packages/postern/src/tools/kinds.ts";
import type { AdapterRow } from "./agent-libraries.ts";
import { median, percentile } from "./harness.ts";

/** Microseconds a call. */
export interface Overhead {
  readonly id: string;
  readonly what: string;
  readonly alone: Spread;
  readonly bare: Spread;
  readonly withPostern: Spread;
  /** Of each round by itself. */
  readonly overhead: Spread;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

export interface RoundOptions {
  readonly rounds: number;
  readonly calls: number;
}

/** Calls of one kind in a row: short, so that most blocks of a round are not interrupted by other processes. */
const block = 10;
const order = ["alone", "bare", "withPostern"] as const;
type Kind = (typeof order)[number];

export async function measureOverhead(row: AdapterRow, tool: AnyTool, options: RoundOptions): Promise<Overhead> {
  const limits = { maxToolCalls: 100_000_000, totalTimeoutMs: 86_400_000 };
  await using runtime = await createRuntime({ tools: [tool], limits });
  const { alone = () => undefined, bare, withPostern } = row.open(runtime);
  const calls = { alone, bare, withPostern };
  const next = { alone: 0, bare: 0, withPostern: 0 };
  const timeBlock = async (kind: Kind): Promise<number> => {
    const began = performance.now();
    for (let i = 0; i < block; i += 1) await calls[kind](next[kind]++);
    return ((performance.now() - began) * 1000) / block;
  };
  await round(timeBlock, options.calls);
  const rounds: Record<Kind, number>[] = [];
  for (let i = 0; i < options.rounds; i += 1) {
    globalThis.gc?.();
    await round(timeBlock, warmUp);
    rounds.push(await round(timeBlock, options.calls));
  }
  const spread = (of: (round: Record<Kind, number>) => number): Spread => spreadOf(rounds.map(of));
  return {
    ...{ id: row.id, what: row.what },
    alone: spread((one) => one.alone),
    bare: spread((one) => one.bare),
    withPostern: spread((one) => one.withPostern),
    overhead: spread((one) => one.withPostern - one.alone - one.bare),
  };
}

/** Gives back the compiled code that a forced collection throws away. */
const warmUp = 1_000;

/** The kinds take turns; a kind's figure is the lower quartile of its blocks. */
async function round(timeBlock: (kind: Kind) => Promise<number>, calls: number): Promise<Record<Kind, number>> {
  const times: Record<Kind, number[]> = { alone: [], bare: [], withPostern: [] };
  for (let turn = 0; turn < calls / block; turn += 1)
    for (let k = 0; k < order.length; k += 1) {
      const kind = order[(turn + k) % order.length] ?? "alone"; // each begins a turn as often as the others
      times[kind].push(await timeBlock(kind));
    }
  const quartile = (kind: Kind): number => percentile(times[kind], 0.25);
  return { alone: quartile("alone"), bare: quartile("bare"), withPostern: quartile("withPostern") };
}

/**
 * Rows are timed round-robin, so that noise of the machine hits every row alike. Each begins every round anew: what one
 * round kept, in memory or in a store, does not weigh on the next.
 */
export interface Row {
  readonly id: string;
  readonly who: string;
  readonly what: string;
  /** Calls a round, when other than the run's. */
  readonly calls?: number;
  readonly open: () => Promise<Opened>;
}

export interface Opened {
  /** Adds `i` and 1 by way of the whole path, and gives the sum. */
  readonly add: (i: number) => Promise<number> | number;
  readonly close?: () => Promise<void> | void;
}

export interface Measured {
  readonly id: string;
  readonly who: string;
  readonly what: string;
  /** One after another, median over the rounds. */
  readonly microsecondsPerCall?: number;
  readonly fastest?: number;
  readonly slowest?: number;
  /** With 32 in flight, median over the rounds. */
  readonly callsPerSecond?: number;
  readonly problem?: string;
}

export interface RunOptions {
  readonly calls: number;
  readonly rounds: number;
  readonly inFlight: number;
}

interface Times {
  readonly sequential: number[];
  readonly together: number[];
}

const warmUp = 3_000;

export async function measure(rows: readonly Row[], options: RunOptions): Promise<readonly Measured[]> {
  const times = new Map<Row, Times | string>(rows.map((row) => [row, { sequential: [], together: [] }]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const [row, so] of times) {
      if (typeof so === "string") continue;
      const problem = await time(row, so, options).catch((error: unknown) => String(error).split("\n")[0] ?? "failed");
      if (problem !== undefined) times.set(row, problem);
    }
  }
  return rows.map((row) => summary(row, times.get(row) ?? "not run"));
}

async function time(row: Row, times: Times, { calls: usual, inFlight }: RunOptions): Promise<undefined> {
  const calls = row.calls ?? usual;
  const { add, close } = await row.open();
  const sum = await add(41);
  if (sum !== 42) throw new Error(`${row.id} says that 41 + 1 is ${sum}`);
  for (let i = 0; i < Math.min(warmUp, calls); i += 1) await add(i);
  globalThis.gc?.();
  let began = performance.now();
  for (let i = 0; i < calls; i += 1) await add(i);
  times.sequential.push(((performance.now() - began) * 1000) / calls);
  globalThis.gc?.();
  let next = 0;
  began = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (next < calls) await add(next++);
    }),
  );
  times.together.push((calls * 1000) / (performance.now() - began));
  await close?.();
}

function summary({ id, who, what }: Row, times: Times | string): Measured {
  if (typeof times === "string") return { id, who, what, problem: times };
  return {
    id,
    who,
    what,
    microsecondsPerCall: median(times.sequential),
    fastest: Math.min(...times.sequential),
    slowest: Math.max(...times.sequential),
    callsPerSecond: median(times.together),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

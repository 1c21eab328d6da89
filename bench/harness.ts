/** Rows are opened and checked once, then timed round-robin, so that noise of the machine hits every row alike. */
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

interface Live extends Opened {
  readonly row: Row;
  readonly calls: number;
  readonly sequential: number[];
  readonly together: number[];
}

export async function measure(rows: readonly Row[], options: RunOptions): Promise<readonly Measured[]> {
  const live = new Map<string, Live | string>();
  for (const row of rows)
    live.set(
      row.id,
      await warm(row, options.calls).catch((error: unknown) => String(error).split("\n")[0] ?? "failed"),
    );
  for (let round = 0; round < options.rounds; round += 1) {
    for (const open of live.values()) if (typeof open !== "string") await time(open, options.inFlight);
  }
  for (const open of live.values()) if (typeof open !== "string") await open.close?.();
  return rows.map((row) => summary(row, live.get(row.id) ?? "not run"));
}

async function warm(row: Row, calls: number): Promise<Live> {
  const opened = await row.open();
  const sum = await opened.add(41);
  if (sum !== 42) throw new Error(`${row.id} says that 41 + 1 is ${sum}`);
  const count = row.calls ?? calls;
  for (let i = 0; i < Math.min(3000, count); i += 1) await opened.add(i);
  return { ...opened, row, calls: count, sequential: [], together: [] };
}

async function time(live: Live, inFlight: number): Promise<void> {
  const { add, calls } = live;
  globalThis.gc?.();
  let began = performance.now();
  for (let i = 0; i < calls; i += 1) await add(i);
  live.sequential.push(((performance.now() - began) * 1000) / calls);
  globalThis.gc?.();
  let next = 0;
  began = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (next < calls) await add(next++);
    }),
  );
  live.together.push((calls * 1000) / (performance.now() - began));
}

function summary({ id, who, what }: Row, live: Live | string): Measured {
  if (typeof live === "string") return { id, who, what, problem: live };
  return {
    id,
    who,
    what,
    microsecondsPerCall: median(live.sequential),
    fastest: Math.min(...live.sequential),
    slowest: Math.max(...live.sequential),
    callsPerSecond: median(live.together),
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

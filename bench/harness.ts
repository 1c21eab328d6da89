/** Rows are timed round-robin, so that noise of the machine hits every row alike. */
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
  /** CPU time of the process, one after another, least of the rounds: the figure that other processes change least. */
  readonly cpuMicroseconds?: number;
  /** With 32 in flight, median over the rounds. */
  readonly callsPerSecond?: number;
  readonly problem?: string;
}

export interface RunOptions {
  readonly calls: number;
  readonly rounds: number;
  readonly inFlight: number;
  /**
   * `fresh`: each row begins every round anew. `kept`: it is opened once, and whatever it keeps of its calls grows from
   * round to round, as in a server that stays up.
   */
  readonly state: "fresh" | "kept";
}

interface Times {
  readonly sequential: number[];
  readonly cpu: number[];
  readonly together: number[];
}

const warmUp = 3_000;

export async function measure(rows: readonly Row[], options: RunOptions): Promise<readonly Measured[]> {
  const times = new Map<Row, Times | string>(rows.map((row) => [row, { sequential: [], cpu: [], together: [] }]));
  const kept = new Map<Row, Opened>();
  for (let round = 0; round < options.rounds; round += 1) {
    for (const [row, so] of times) {
      if (typeof so === "string") continue;
      try {
        const opened = kept.get(row) ?? (await open(row, options.calls));
        await time(opened, so, { ...options, calls: row.calls ?? options.calls });
        if (options.state === "kept") kept.set(row, opened);
        else await opened.close?.();
      } catch (error) {
        times.set(row, String(error).split("\n")[0] ?? "failed");
      }
    }
  }
  for (const opened of kept.values()) await opened.close?.();
  return rows.map((row) => summary(row, times.get(row) ?? "not run"));
}

async function open(row: Row, usual: number): Promise<Opened> {
  const opened = await row.open();
  const sum = await opened.add(41);
  if (sum !== 42) throw new Error(`${row.id} says that 41 + 1 is ${sum}`);
  await warm(opened.add, row.calls ?? usual);
  return opened;
}

async function time({ add }: Opened, times: Times, { calls, inFlight }: RunOptions): Promise<void> {
  await collected(add, calls);
  let began = performance.now();
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i += 1) await add(i);
  const { user, system } = process.cpuUsage(before);
  times.sequential.push(((performance.now() - began) * 1000) / calls);
  times.cpu.push((user + system) / calls);
  await collected(add, calls);
  began = performance.now();
  await together(add, calls, inFlight);
  times.together.push((calls * 1000) / (performance.now() - began));
}

/** No row pays for another's garbage, nor for getting back the compiled code that a forced collection throws away. */
async function collected(add: Opened["add"], calls: number): Promise<void> {
  globalThis.gc?.();
  await warm(add, calls);
}

async function warm(add: Opened["add"], calls: number): Promise<void> {
  for (let i = 0; i < Math.min(warmUp, calls); i += 1) await add(i);
}

async function together(add: Opened["add"], calls: number, inFlight: number): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (next < calls) await add(next++);
    }),
  );
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
    cpuMicroseconds: Math.min(...times.cpu),
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

/** Milliseconds. */
export async function timed(work: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

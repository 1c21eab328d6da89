/** Reads processor time and memory of a process and its children from `/proc`. */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import type { Clock } from "../../core/clock.ts";

const millisecondsPerTick = 10; // USER_HZ is 100 on every Linux that Node runs on
const bytesPerPage = 4_096;

export interface ProcessUsage {
  /** User and system time of all its threads and of its children that have ended. */
  readonly cpuMs: number;
  readonly residentBytes: number;
}

/** Of the process alone. Undefined when there is no `/proc`, or the process is gone. */
export function measured(pid: number): ProcessUsage | undefined {
  return measuredBy(read(`/proc/${pid}/stat`));
}

function measuredBy(stat: string | undefined): ProcessUsage | undefined {
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" "); // a name may hold spaces and brackets
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  return { cpuMs: ticks * millisecondsPerTick, residentBytes: Number(fields[21]) * bytesPerPage };
}

/** The list of children is read again after this time, because reading it is slow. */
const knownForMs = 500;

/**
 * Measures a process and its children repeatedly: an engine may run below the program that isolates it. Files stay open
 * between two reads until `close`.
 */
export class ProcessTree {
  readonly #pid: number;
  readonly #clock: Clock;
  #files: readonly number[] = [];
  #knownUntil = Number.NEGATIVE_INFINITY;

  constructor(pid: number, clock: Clock) {
    this.#pid = pid;
    this.#clock = clock;
  }

  /** Of all of them together. Undefined when there is no `/proc`, or the process is gone. */
  measure(): ProcessUsage | undefined {
    const now = this.#clock.monotonic();
    if (now >= this.#knownUntil) {
      this.close();
      this.#files = treeOf(this.#pid).flatMap((pid) => opened(`/proc/${pid}/stat`));
      this.#knownUntil = now + knownForMs;
    }
    const [own, ...others] = this.#files.map((file) => measuredBy(readAgain(file)));
    if (own === undefined) return undefined;
    return others.reduce<ProcessUsage>(
      (sum, { cpuMs, residentBytes } = nothing) => ({
        cpuMs: sum.cpuMs + cpuMs,
        residentBytes: sum.residentBytes + residentBytes,
      }),
      own,
    );
  }

  /** It may be measured again afterwards. */
  close(): void {
    for (const file of this.#files) closeSync(file);
    this.#files = [];
    this.#knownUntil = Number.NEGATIVE_INFINITY;
  }
}

const nothing: ProcessUsage = { cpuMs: 0, residentBytes: 0 };

/** The process and all below it. */
export function treeOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** The children of all its threads. Empty when the kernel does not list them. */
function childrenOf(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  return namesIn(folder).flatMap((thread) => (read(`${folder}/${thread}/children`)?.match(/\d+/g) ?? []).map(Number));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // as below
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // another system, or it has just ended
  }
}

function opened(path: string): readonly number[] {
  try {
    return [openSync(path, "r")];
  } catch {
    return []; // as above
  }
}

const buffer = Buffer.alloc(1024); // fifty numbers and a short name

/** Reads the file from its start. */
function readAgain(file: number): string | undefined {
  try {
    return buffer.toString("latin1", 0, readSync(file, buffer, 0, buffer.length, 0));
  } catch {
    return undefined; // it has ended
  }
}

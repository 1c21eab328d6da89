/**
 * The host's own eye on a running child: what the engine inside cannot stop is stopped from here.
 *
 * Why: an engine checks its budget between its own instructions; one regular expression, one huge integer or a broken engine
 * never comes there. Processor time and memory are read from `/proc`; where there is none, time on the wall stands for both.
 * Of what runs elsewhere the clock alone is watched: the place it runs in has its own limits for the rest.
 */
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Clock } from "../../../calls/clock.ts";

export interface WatchLimits {
  /** Processor milliseconds of the whole script. */
  readonly cpuMs: number;
  /** Milliseconds that may still pass in this turn. */
  readonly wallMs: number;
  /** Resident bytes of the whole process. */
  readonly memoryBytes: number;
}

export type Overrun = "cpu" | "memory" | "wall";

/** How long after its limit an engine may take to end by itself, and to tell what it printed. */
export const graceMs = 700;
const lookEveryMs = 100;

/**
 * Processor time of a child since a script began in it.
 *
 * Reading it from the kernel costs as much as a whole call does, so a short turn is counted by the wall: never too little.
 */
export class CpuMeter {
  readonly #pid: number | undefined;
  readonly #clock: Clock;
  readonly #before: number | undefined;
  #usedMs = 0;
  #turnBegan: number | undefined;

  constructor(pid: number | undefined, clock: Clock) {
    this.#pid = pid;
    this.#clock = clock;
    this.#before = pid === undefined ? undefined : cpuMsOf(pid);
  }

  /** Up to the last turn's end. */
  get usedMs(): number {
    return this.#usedMs;
  }

  begin(): void {
    this.#turnBegan = this.#clock.monotonic();
  }

  end(): void {
    const passed = this.#passed();
    this.#usedMs = this.#pid !== undefined && passed < shortTurnMs ? this.#usedMs + passed : this.now();
    this.#turnBegan = undefined;
  }

  /** In the middle of a turn. */
  now(): number {
    if (this.#pid === undefined) return 0;
    const total = this.#before === undefined ? undefined : cpuMsOf(this.#pid);
    return total === undefined ? this.#usedMs + this.#passed() : total - (this.#before ?? 0);
  }

  #passed(): number {
    return this.#turnBegan === undefined ? 0 : this.#clock.monotonic() - this.#turnBegan;
  }
}

const shortTurnMs = 10;

/** Watches one turn, until the returned function is called. */
export function watchTurn(
  child: { readonly pid: number | undefined; readonly meter: CpuMeter },
  limits: WatchLimits,
  clock: Clock,
  stop: (why: Overrun) => void,
): () => void {
  const begun = clock.monotonic();
  const { pid, meter } = child;
  let forget: () => void;
  meter.begin();
  const look = (): void => {
    const why = overrun();
    if (why === undefined) {
      if (pid !== undefined) yieldToOthers(pid);
      forget = clock.in(lookEveryMs, look);
    } else stop(why);
  };
  const overrun = (): Overrun | undefined => {
    if (clock.monotonic() - begun > limits.wallMs + graceMs) return "wall";
    if (meter.now() > limits.cpuMs + graceMs) return "cpu";
    const resident = pid === undefined ? undefined : residentBytesOf(pid);
    return resident !== undefined && resident > limits.memoryBytes ? "memory" : undefined;
  };
  forget = clock.in(lookEveryMs, look);
  return () => {
    forget();
    meter.end();
  };
}

/** Whoever computes as long as one look takes is no hurry of anybody's: where processors are short, the host goes first. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, lowPriority);
  } catch {
    // It has just ended, or may not be slowed down here: its limits hold all the same.
  }
}

const lowPriority = 10;
const millisecondsPerTick = 10; // USER_HZ is 100 on every Linux that Node runs on
const bytesPerPage = 4_096;

/** User and system time of all its threads. Undefined when there is no `/proc`, or the process is gone. */
export function cpuMsOf(pid: number): number | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * millisecondsPerTick;
}

function residentBytesOf(pid: number): number | undefined {
  const text = read(`/proc/${pid}/statm`);
  return text === undefined ? undefined : Number(text.split(" ")[1]) * bytesPerPage;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined; // another system, or it has just ended
  }
}

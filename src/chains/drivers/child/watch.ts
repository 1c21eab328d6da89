/**
 * The host's own eye on a running child: what the engine inside cannot stop is stopped from here.
 *
 * Why: an engine checks its budget between its own instructions; one regular expression, one huge integer or a broken engine
 * never comes there. Processor time and memory are read from `/proc`; where there is none, time on the wall stands for both.
 * Of what runs elsewhere the clock alone is watched: the place it runs in has its own limits for the rest.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Clock } from "../../../calls/clock.ts";

export interface WatchLimits {
  /** Processor milliseconds of the whole script. */
  readonly cpuMs: number;
  /** Milliseconds that may still pass in this turn. */
  readonly wallMs: number;
  /** Resident bytes of the process and all beneath it. */
  readonly memoryBytes: number;
}

export type Overrun = "cpu" | "memory" | "wall";

/** How long after its limit an engine may take to end by itself, and to tell what it printed. */
export const graceMs = 700;
const lookEveryMs = 100;
/** Of processor time in one turn: where processors are short, a turn is long without it. */
const busyMs = 100;

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
  #isSlowed = false;

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

  /** Whoever computes that long is no hurry of anybody's: where processors are short, the host goes first. */
  slowDown(): void {
    if (this.#pid === undefined) return;
    this.#isSlowed = true;
    try {
      setPriority(this.#pid, lowPriority);
    } catch {
      // It has just ended, or may not be slowed down here: its limits hold all the same.
    }
  }

  /** It stays so for good: only root could hurry it again. */
  get isSlowed(): boolean {
    return this.#isSlowed;
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
      if (meter.now() - meter.usedMs >= busyMs) meter.slowDown();
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

const lowPriority = 10;
const millisecondsPerTick = 10; // USER_HZ is 100 on every Linux that Node runs on
const bytesPerPage = 4_096;

/**
 * User and system time of all its threads, and of every process beneath it, those that have ended included: an engine may
 * stand behind the walls that were started for it. Undefined when there is no `/proc`, or the process is gone.
 */
export function cpuMsOf(pid: number): number | undefined {
  return overTree(pid, (each) => {
    const text = read(`/proc/${each}/stat`);
    if (text === undefined) return undefined;
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * millisecondsPerTick;
  });
}

export function residentBytesOf(pid: number): number | undefined {
  return overTree(pid, (each) => {
    const text = read(`/proc/${each}/statm`);
    return text === undefined ? undefined : Number(text.split(" ")[1]) * bytesPerPage;
  });
}

/** The sum over a process and what it has started. */
function overTree(pid: number, measure: (pid: number) => number | undefined): number | undefined {
  const own = measure(pid);
  if (own === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (overTree(child, measure) ?? 0), own);
}

/** Of each of its threads: whichever started them. None where the kernel does not tell. */
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

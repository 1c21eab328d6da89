/**
 * Watches a running sandbox from the host and stops what the engine cannot stop.
 *
 * Why: an engine checks its budget between its own instructions. A regular expression, a huge integer or a broken engine never
 * gets there. Without `/proc`, wall time counts as processor time. For remote sandboxes only the clock is watched; their
 * machine limits the rest.
 */
import type { Clock } from "@postern/core";
import { type ProcessUsage, usageOf } from "./usage.ts";

export interface WatchLimits {
  /** Processor milliseconds of the whole script. */
  readonly cpuMs: number;
  /** Milliseconds that may still pass in this turn. */
  readonly wallMs: number;
  /** Resident bytes of the process and its children. */
  readonly memoryBytes: number;
}

export type Overrun = "cpu" | "memory" | "wall";

/** How long an engine may take after its limit to end by itself and report what it printed. */
const graceMs = 700;
const lookEveryMs = 100;
/** Most turns end before the first check. */
const firstLookMs = 20;
/** A shorter turn counts by wall time, which is never less: reading `/proc` is slow. */
const shortTurnMs = 10;

/** Measures one script, turn by turn. */
export class ProcessWatch {
  readonly #pid: number | undefined;
  readonly #clock: Clock;
  /** What the process had used before the script: known from the first read of `/proc` on. */
  #beforeMs: number | undefined;
  #usedMs = 0;

  constructor(pid: number | undefined, clock: Clock) {
    this.#pid = pid;
    this.#clock = clock;
  }

  /** Processor time up to the last turn's end. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** Watches one turn until the returned function is called. */
  turn(limits: WatchLimits, stop: (why: Overrun) => void): () => void {
    const began = this.#clock.monotonic();
    const passed = (): number => this.#clock.monotonic() - began;
    const look = (): void => {
      const usage = this.#usage();
      const why = overrun(this.#used(usage, passed()), usage);
      if (why === undefined) forget = this.#clock.in(lookEveryMs, look);
      else stop(why);
    };
    const overrun = (usedMs: number, usage: ProcessUsage | undefined): Overrun | undefined => {
      if (passed() > limits.wallMs + graceMs) return "wall";
      if (usedMs > limits.cpuMs + graceMs) return "cpu";
      return usage !== undefined && usage.residentBytes > limits.memoryBytes ? "memory" : undefined;
    };
    let forget = this.#clock.in(firstLookMs, look);
    return () => {
      forget();
      const isShort = passed() < shortTurnMs || this.#beforeMs === undefined;
      this.#usedMs = this.#used(isShort ? undefined : this.#usage(), passed());
    };
  }

  #usage(): ProcessUsage | undefined {
    return this.#pid === undefined ? undefined : usageOf(this.#pid);
  }

  #used(usage: ProcessUsage | undefined, passedMs: number): number {
    if (this.#pid === undefined) return 0;
    if (usage === undefined) return this.#usedMs + passedMs;
    this.#beforeMs ??= usage.cpuMs - this.#usedMs;
    return usage.cpuMs - this.#beforeMs;
  }
}

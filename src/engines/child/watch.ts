/**
 * Watches a running sandbox from the host and stops what the engine cannot stop.
 *
 * Why: an engine checks its budget between its own instructions. A regular expression, a huge integer or a broken engine never
 * gets there. Processor time and memory are read from `/proc`. Without `/proc`, wall time counts as processor time. For remote
 * sandboxes only the clock is watched; their machine limits the rest.
 */
import type { Clock } from "../../core/clock.ts";
import { ProcessTree } from "./kernel-tells.ts";

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
export const graceMs = 700;
const lookEveryMs = 100;
/** Most turns end before the first look. */
const firstLookMs = 20;

/**
 * The processor time of a script.
 *
 * Reading it from the kernel is slow, so a short turn counts by wall time, which is never less. The time that the process had
 * used before the script is computed at the first read; turns before that count by wall time.
 */
export class CpuMeter {
  readonly #tree: ProcessTree | undefined;
  readonly #clock: Clock;
  #before: number | undefined;
  #usedMs = 0;
  #turnBegan: number | undefined;
  #residentBytes: number | undefined;

  constructor(pid: number | undefined, clock: Clock) {
    this.#tree = pid === undefined ? undefined : new ProcessTree(pid, clock);
    this.#clock = clock;
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
    const isByWall = this.#tree !== undefined && (passed < shortTurnMs || this.#before === undefined);
    this.#usedMs = isByWall ? this.#usedMs + passed : this.now();
    this.#turnBegan = undefined;
    this.#tree?.close();
  }

  /** Resident bytes of the process and its children at the last look. Undefined when unknown. */
  get residentBytes(): number | undefined {
    return this.#residentBytes;
  }

  /** The time used, during a turn. */
  now(): number {
    if (this.#tree === undefined) return 0;
    const measured = this.#tree.measure();
    this.#residentBytes = measured?.residentBytes;
    const total = measured?.cpuMs;
    if (total === undefined) return this.#usedMs + this.#passed();
    this.#before ??= total - this.#usedMs;
    return total - this.#before;
  }

  #passed(): number {
    return this.#turnBegan === undefined ? 0 : this.#clock.monotonic() - this.#turnBegan;
  }
}

const shortTurnMs = 10;

/** Watches one turn until the returned function is called. */
export function watchTurn(
  { meter, clock }: { readonly meter: CpuMeter; readonly clock: Clock },
  limits: WatchLimits,
  stop: (why: Overrun) => void,
): () => void {
  const begun = clock.monotonic();
  let forget: () => void;
  meter.begin();
  const look = (): void => {
    const why = overrun(meter.now());
    if (why === undefined) forget = clock.in(lookEveryMs, look);
    else stop(why);
  };
  const overrun = (usedMs: number): Overrun | undefined => {
    if (clock.monotonic() - begun > limits.wallMs + graceMs) return "wall";
    if (usedMs > limits.cpuMs + graceMs) return "cpu";
    const resident = meter.residentBytes;
    return resident !== undefined && resident > limits.memoryBytes ? "memory" : undefined;
  };
  forget = clock.in(firstLookMs, look);
  return () => {
    forget();
    meter.end();
  };
}

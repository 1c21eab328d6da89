/**
 * The host's own eye on a running child: what the engine inside cannot stop is stopped from here.
 *
 * Why: an engine checks its budget between its own instructions; one regular expression, one huge integer or a broken engine
 * never comes there. Processor time and memory are read from `/proc`; where there is none, time on the wall stands for both.
 * Of what runs elsewhere the clock alone is watched: the place it runs in has its own limits for the rest.
 */
import type { Clock } from "../../../calls/clock.ts";
import { ProcessTree } from "./kernel-tells.ts";

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
/** Most turns are over by then, and nothing is read for them. */
const firstLookMs = 20;

/**
 * Processor time of a child since a script began in it.
 *
 * Reading it from the kernel costs as much as a whole call does, so a short turn is counted by the wall: never too little.
 * What the process had used before is reckoned when it is first read: whole turns up to then count by the wall, and of the
 * one that goes on nothing does yet.
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

  /** Of the child and all beneath it, when it was last looked at. Undefined: nobody tells. */
  get residentBytes(): number | undefined {
    return this.#residentBytes;
  }

  /** In the middle of a turn. */
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

/** Watches one turn, until the returned function is called. */
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

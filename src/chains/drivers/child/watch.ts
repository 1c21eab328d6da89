/**
 * The host's own eye on a running child: what the engine inside cannot stop is stopped from here.
 *
 * Why: an engine checks its budget between its own instructions; one regular expression, one huge integer or a broken engine
 * never comes there. Processor time and memory are read from `/proc`; where there is none, time on the wall stands for both.
 * Of what runs elsewhere the clock alone is watched: the place it runs in has its own limits for the rest.
 */
import type { Clock } from "../../../calls/clock.ts";
import { ProcessTree, treeOf } from "./kernel-tells.ts";
import { backgroundNiceness, standBack } from "./priority.ts";

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
/** Of processor time, in one long turn or in many: where processors are short, a turn is long without it. */
const busyMs = 100;

/**
 * Processor time of a child since a script began in it.
 *
 * Reading it from the kernel costs as much as a whole call does, so a short turn is counted by the wall: never too little.
 * What the process had used before is reckoned when it is first read: whole turns up to then count by the wall, and of the
 * one that goes on nothing does yet.
 */
export class CpuMeter {
  readonly #pid: number | undefined;
  readonly #tree: ProcessTree | undefined;
  readonly #clock: Clock;
  readonly #keepsPace: boolean;
  #before: number | undefined;
  #usedMs = 0;
  #computedMs = 0;
  #turnBegan: number | undefined;
  #isSlowed = false;
  #residentBytes: number | undefined;

  /** @param keepsPace it stays as quick as others: a kernel of its own counts what it waits for a processor as time used */
  constructor(pid: number | undefined, clock: Clock, keepsPace = false) {
    this.#pid = pid;
    this.#tree = pid === undefined ? undefined : new ProcessTree(pid, clock);
    this.#clock = clock;
    this.#keepsPace = keepsPace;
  }

  /** Up to the last turn's end. */
  get usedMs(): number {
    return this.#usedMs;
  }

  /** Of those turns alone that were not counted by the wall. */
  get computedMs(): number {
    return this.#computedMs;
  }

  begin(): void {
    this.#turnBegan = this.#clock.monotonic();
  }

  end(): void {
    const passed = this.#passed();
    const isByWall = this.#tree !== undefined && (passed < shortTurnMs || this.#before === undefined);
    const before = this.#usedMs;
    this.#usedMs = isByWall ? before + passed : this.now();
    if (!isByWall) this.#computedMs += this.#usedMs - before;
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

  /** Whoever computes that long is no hurry of anybody's: where processors are short, the host goes first. */
  slowDown(): void {
    if (this.#pid === undefined || this.#keepsPace || this.#isSlowed) return;
    this.#isSlowed = true;
    for (const each of treeOf(this.#pid)) standBack(each, backgroundNiceness); // walls are sessions of their own
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
  { meter, clock }: { readonly meter: CpuMeter; readonly clock: Clock },
  limits: WatchLimits,
  stop: (why: Overrun) => void,
): () => void {
  const begun = clock.monotonic();
  let forget: () => void;
  meter.begin();
  const look = (): void => {
    const usedMs = meter.now();
    const why = overrun(usedMs);
    if (why === undefined) {
      if (meter.computedMs + usedMs - meter.usedMs >= busyMs) meter.slowDown();
      forget = clock.in(lookEveryMs, look);
    } else stop(why);
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

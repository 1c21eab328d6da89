/** When an engine must stop: processor time of this thread, wall time, and printed text. */

export type Overtime = "cpu" | "wall" | "output";

/** The engine was stopped while it ran. */
export class EngineStopped extends Error {
  readonly why: Overtime;

  constructor(why: Overtime) {
    super(why);
    this.why = why;
  }
}

const microsecondsPerMs = 1_000;
/** Turns of this length in sum count as processor time before the kernel is asked, because asking is slow. */
const mostUnmeasuredMs = 20;

export class Deadlines {
  /** Processor time at the last read, and the length of all turns since. */
  #measuredMs = 0;
  #unmeasuredMs = Number.POSITIVE_INFINITY;
  #begun = 0;
  #cpu = 0;
  #wall = Number.POSITIVE_INFINITY;
  #soonest = 0;
  #off = true;
  #isSpent = false;

  /** Starts a turn with this many milliseconds. */
  set(cpuMs: number, wallMs: number): void {
    if (this.#unmeasuredMs > mostUnmeasuredMs) {
      this.#measuredMs = usedMs();
      this.#unmeasuredMs = 0;
    }
    const now = performance.now();
    this.#begun = now;
    this.#cpu = this.#measuredMs + this.#unmeasuredMs + cpuMs;
    this.#wall = now + wallMs;
    // A thread cannot compute longer than time passes, so the kernel is not asked before this.
    this.#soonest = now + Math.min(cpuMs, wallMs);
    this.#off = false;
  }

  /** Ends a turn. */
  pause(): void {
    this.#unmeasuredMs += performance.now() - this.#begun;
  }

  /** The script printed too much. */
  spend(): void {
    this.#isSpent = true;
  }

  get over(): Overtime | undefined {
    if (this.#off) return undefined;
    if (this.#isSpent) return "output";
    const now = performance.now();
    if (now < this.#soonest) return undefined;
    if (usedMs() > this.#cpu) return "cpu";
    return now > this.#wall ? "wall" : undefined;
  }

  get leftMs(): number {
    return Math.max(0, this.#wall - performance.now());
  }

  check(): void {
    const why = this.over;
    if (why !== undefined) throw new EngineStopped(why);
  }

  without<T>(work: () => T): T {
    const before = this.#off;
    this.#off = true;
    try {
      return work();
    } finally {
      this.#off = before;
    }
  }
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / microsecondsPerMs;
}

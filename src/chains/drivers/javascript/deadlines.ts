/** How long an engine may go on: processor time of this thread, time on the wall, and until it has printed all it may. */

export type Overtime = "cpu" | "wall" | "output";

/** The engine was stopped in the middle of something. */
export class Stopped extends Error {
  readonly why: Overtime;

  constructor(why: Overtime) {
    super(why);
    this.why = why;
  }
}

const microsecondsPerMs = 1_000;
/** So long turns together are taken for computed before the kernel is asked: asking costs a fifth of a call. */
const mostUnmeasuredMs = 20;

export class Deadlines {
  /** Processor time of this thread when the kernel was asked last, and how long all turns took since. */
  #measuredMs = 0;
  #unmeasuredMs = Number.POSITIVE_INFINITY;
  #begun = 0;
  #cpu = 0;
  #wall = Number.POSITIVE_INFINITY;
  #soonest = 0;
  #off = true;
  #isSpent = false;

  /** A turn begins. Milliseconds from now. */
  set(cpuMs: number, wallMs: number): void {
    if (this.#unmeasuredMs > mostUnmeasuredMs) {
      this.#measuredMs = usedMs();
      this.#unmeasuredMs = 0;
    }
    const now = performance.now();
    this.#begun = now;
    this.#cpu = this.#measuredMs + this.#unmeasuredMs + cpuMs;
    this.#wall = now + wallMs;
    // One thread computes no longer than time passes: before this the kernel need not be asked, which costs more than a call.
    this.#soonest = now + Math.min(cpuMs, wallMs);
    this.#off = false;
  }

  /** The turn is over. */
  pause(): void {
    this.#unmeasuredMs += performance.now() - this.#begun;
  }

  /** It has printed more than it may. */
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
    if (why !== undefined) throw new Stopped(why);
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

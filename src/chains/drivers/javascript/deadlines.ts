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

export class Deadlines {
  #cpu = 0;
  #wall = Number.POSITIVE_INFINITY;
  #soonest = 0;
  #off = true;
  #isSpent = false;

  /** Milliseconds from now. */
  set(cpuMs: number, wallMs: number): void {
    const now = performance.now();
    this.#cpu = usedMs() + cpuMs;
    this.#wall = now + wallMs;
    // One thread computes no longer than time passes: before this the kernel need not be asked, which costs more than a call.
    this.#soonest = now + Math.min(cpuMs, wallMs);
    this.#off = false;
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

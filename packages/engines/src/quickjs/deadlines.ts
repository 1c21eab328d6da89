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

export class Deadlines {
  #cpuMs = 0;
  #wallMs = Number.POSITIVE_INFINITY;
  /** A thread cannot compute longer than time passes, so the kernel is not asked before this time. */
  #soonestMs = 0;
  #isOff = true;
  #isSpent = false;

  /** Starts a turn with this many milliseconds. */
  set(cpuMs: number, wallMs: number): void {
    const now = performance.now();
    this.#cpuMs = usedMs() + cpuMs;
    this.#wallMs = now + wallMs;
    this.#soonestMs = now + Math.min(cpuMs, wallMs);
    this.#isOff = false;
  }

  /** The script printed too much. */
  spend(): void {
    this.#isSpent = true;
  }

  get over(): Overtime | undefined {
    if (this.#isOff) return undefined;
    if (this.#isSpent) return "output";
    const now = performance.now();
    if (now < this.#soonestMs) return undefined;
    if (usedMs() > this.#cpuMs) return "cpu";
    return now > this.#wallMs ? "wall" : undefined;
  }

  get leftMs(): number {
    return Math.max(0, this.#wallMs - performance.now());
  }

  /** @throws EngineStopped */
  check(): void {
    const why = this.over;
    if (why !== undefined) throw new EngineStopped(why);
  }

  without<T>(work: () => T): T {
    const before = this.#isOff;
    this.#isOff = true;
    try {
      return work();
    } finally {
      this.#isOff = before;
    }
  }
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / microsecondsPerMs;
}

import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks at the event loop. */
const resolutionMs = 20;

/** Memory, processor time, and how long the event loop was held up. */
export class ProcessMeasures implements Disposable {
  readonly #delays = monitorEventLoopDelay({ resolution: resolutionMs });

  constructor() {
    this.#delays.enable();
  }

  get residentBytes(): number {
    return process.memoryUsage.rss();
  }

  get cpuSeconds(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }

  /** The 99th percentile since the last read. A look that is on time counts as 0. */
  takeLagSeconds(): number {
    const delay = this.#delays.count === 0 ? 0 : this.#delays.percentile(99) / 1e9;
    this.#delays.reset();
    return Math.max(0, delay - resolutionMs / 1000);
  }

  [Symbol.dispose](): void {
    this.#delays.disable();
  }
}

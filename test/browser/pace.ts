/**
 * How fast the machine is while something is measured on it. The figures are promises for a quiet machine; a busy one is
 * measured against itself: beside each measured step one round trip of fixed work is timed, and the bar is raised by as
 * much as that takes longer than `quietMs`. It is never lowered, and on a quiet machine it is the figure itself.
 */
import type { Page } from "playwright-core";

/** A round trip on the developers' machine (two cores) with nothing else on it, p95. */
const quietMs = 40;

export class Pace {
  readonly #page: Page;
  readonly #times: number[] = [];

  constructor(page: Page) {
    this.#page = page;
  }

  /** From the test into the page, from there to the server and back (where nothing is read), and two frames drawn. */
  async sample(): Promise<void> {
    const began = performance.now();
    await this.#page.evaluate(`(async () => {
      await (await fetch("/healthz")).text();
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    })()`);
    this.#times.push(performance.now() - began);
  }

  get p95Ms(): number {
    return p95(this.#times);
  }

  /** What the figure is on this machine, now. */
  bar(figureMs: number): number {
    return figureMs * Math.max(1, this.p95Ms / quietMs);
  }
}

/** The nineteenth of twenty. */
export function p95(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.POSITIVE_INFINITY;
}

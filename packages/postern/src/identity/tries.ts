import type { Clock } from "@postern/core";

/**
 * Counts failed tries a second by what they share (a name, an address). Above the limit the answer is "slow down". It
 * holds only the names of one second.
 */
export class Tries {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #second = -1;
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock, perSecond = 10) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** Whether any of these has reached its limit this second. Counts nothing. */
  isOver(...names: readonly string[]): boolean {
    this.#turn();
    return names.some((name) => (this.#counts.get(name) ?? 0) >= this.#perSecond);
  }

  /** Counts one try for each name. */
  count(...names: readonly string[]): void {
    this.#turn();
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Takes back a try that was successful. */
  forgive(...names: readonly string[]): void {
    this.#turn();
    for (const name of names) this.#counts.set(name, Math.max(0, (this.#counts.get(name) ?? 0) - 1));
  }

  #turn(): void {
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second === this.#second) return;
    this.#second = second;
    this.#counts.clear();
  }
}

import type { Clock } from "../core/clock.ts";

/**
 * Counts bad tries by whatever they have in common (a name, an address), so many a second, after which the answer is
 * "slow down". Holds the names of one second at most.
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

  /** Whether any of these had its share this second. Counts nothing. */
  isOver(...names: readonly string[]): boolean {
    this.#turn();
    return names.some((name) => (this.#counts.get(name) ?? 0) >= this.#perSecond);
  }

  /** One more for each. */
  count(...names: readonly string[]): void {
    this.#turn();
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** It was a good one after all. */
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

import type { Clock } from "../core/clock.ts";

/**
 * Tells who goes on streaming that its credential is no longer what it was: its account changed, its session or token
 * ended. Requests are asked about anew each time; this is for those that do not end by themselves.
 */
export class Endings {
  readonly #clock: Clock;
  readonly #watching = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `then` once, when any of these names ends or at `expiresAt`. What it returns takes that back. */
  watch(names: readonly string[], expiresAt: number, then: () => void): () => void {
    const told = (): void => {
      leave();
      then();
    };
    const cancel = this.#clock.in(Math.max(0, expiresAt - this.#clock.now()), told, false);
    const leave = (): void => {
      cancel();
      for (const name of names) this.#drop(name, told);
    };
    for (const name of names) this.#watching.set(name, (this.#watching.get(name) ?? new Set()).add(told));
    return leave;
  }

  end(name: string): void {
    const told = [...(this.#watching.get(name) ?? [])];
    this.#watching.delete(name);
    for (const tell of told) tell();
  }

  #drop(name: string, told: () => void): void {
    const watching = this.#watching.get(name);
    watching?.delete(told);
    if (watching?.size === 0) this.#watching.delete(name);
  }
}

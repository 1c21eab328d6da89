import type { Clock } from "@postern/core";

/**
 * Tells open streams that their credential ended or changed: its account changed, or its session or token ended.
 * Requests are checked when they arrive; this is for streams that stay open.
 */
export class Endings {
  readonly #clock: Clock;
  readonly #watching = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `then` once, when any of these names ends or at `expiresAt`. The returned function stops watching. */
  watch(names: readonly string[], expiresAt: number, then: () => void): () => void {
    const notify = (): void => {
      leave();
      then();
    };
    const cancel = this.#clock.in(Math.max(0, expiresAt - this.#clock.now()), notify, false);
    const leave = (): void => {
      cancel();
      for (const name of names) this.#drop(name, notify);
    };
    for (const name of names) this.#watching.set(name, (this.#watching.get(name) ?? new Set()).add(notify));
    return leave;
  }

  end(name: string): void {
    const notify = [...(this.#watching.get(name) ?? [])];
    this.#watching.delete(name);
    for (const one of notify) one();
  }

  #drop(name: string, notify: () => void): void {
    const watching = this.#watching.get(name);
    watching?.delete(notify);
    if (watching?.size === 0) this.#watching.delete(name);
  }
}

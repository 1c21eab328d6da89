import type { Clock } from "@postern/core";

/**
 * The time of the database, so that two machines whose clocks differ agree on what has expired. Between two answers of
 * the database it goes on by the monotonic clock, so the wall clock of this machine changes nothing.
 */
export class DatabaseClock implements Clock {
  readonly #machine: Clock;
  #aheadMs: number;

  /** @param machine its wall clock is used until the database has answered */
  constructor(machine: Clock) {
    this.#machine = machine;
    this.#aheadMs = machine.now() - machine.monotonic();
  }

  now(): number {
    return Math.floor(this.#machine.monotonic() + this.#aheadMs);
  }

  monotonic(): number {
    return this.#machine.monotonic();
  }

  in(ms: number, then: () => void, keepsAlive?: boolean): () => void {
    return this.#machine.in(ms, then, keepsAlive);
  }

  /**
   * @param databaseMs what the database answered
   * @param askedAt when it was asked: monotonic. It answered between then and now.
   */
  set(databaseMs: number, askedAt: number): void {
    this.#aheadMs = databaseMs - (askedAt + this.#machine.monotonic()) / 2;
  }
}

import type { Clock } from "../../core/clock.ts";

/** So much that no call waits for may come at once, and in each second after it. */
const burstBytes = 1024 * 1024;
const bytesPerSecond = 2 * 1024 * 1024;
/** A line costs more than its bytes. */
const lineBytes = 64;
/** So many notifications and requests of a server are heard at once, and in each second after it; the others are dropped. */
const burstMessages = 100;
const messagesPerSecond = 50;

/** What one server may send without being asked, so that its neighbours do not pay for it. */
export class Inflow {
  readonly #bytes: Bucket;
  readonly #messages: Bucket;

  constructor(clock: Clock) {
    this.#bytes = new Bucket(clock, burstBytes, bytesPerSecond);
    this.#messages = new Bucket(clock, burstMessages, messagesPerSecond);
  }

  /** Counts what was sent and no call waits for. */
  count(bytes: number): void {
    this.#bytes.take(bytes + lineBytes);
  }

  /** Whether one more notification or request is heard. */
  hears(): boolean {
    return this.#messages.takeIfThere(1);
  }

  /** How long nothing more is to be read from the server. 0: not at all. */
  get pauseMs(): number {
    return this.#bytes.untilThereMs;
  }
}

class Bucket {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #perMs: number;
  #left: number;
  #atMs: number;

  constructor(clock: Clock, most: number, perSecond: number) {
    this.#clock = clock;
    this.#most = most;
    this.#perMs = perSecond / 1_000;
    this.#left = most;
    this.#atMs = clock.monotonic();
  }

  take(amount: number): void {
    this.#refill();
    this.#left -= amount;
  }

  takeIfThere(amount: number): boolean {
    this.#refill();
    if (this.#left < amount) return false;
    this.#left -= amount;
    return true;
  }

  get untilThereMs(): number {
    this.#refill();
    return this.#left >= 0 ? 0 : Math.ceil(-this.#left / this.#perMs);
  }

  #refill(): void {
    const now = this.#clock.monotonic();
    this.#left = Math.min(this.#most, this.#left + (now - this.#atMs) * this.#perMs);
    this.#atMs = now;
  }
}

import type { Clock } from "@postern/core";

/** Bytes that no call waits for: at once, and in each second after that. */
const burstBytes = 1024 * 1024;
const bytesPerSecond = 2 * 1024 * 1024;
/** A line costs more than its bytes. */
const lineBytes = 64;
/** Notifications and requests of a server that are read: at once, and in each second after that. The others are dropped. */
const burstMessages = 100;
const messagesPerSecond = 50;
/** Of what a server tells by itself, apart from its questions and progress. */
const burstNotices = 100;
const noticesPerSecond = 50;

/** Limits what one server may send unasked, so that it does not slow down the other servers. */
export class Inflow {
  readonly #bytes: Bucket;
  readonly #messages: Bucket;
  readonly #notices: Bucket;

  constructor(clock: Clock) {
    this.#bytes = new Bucket(clock, burstBytes, bytesPerSecond);
    this.#messages = new Bucket(clock, burstMessages, messagesPerSecond);
    this.#notices = new Bucket(clock, burstNotices, noticesPerSecond);
  }

  /** Counts bytes that no call waits for. */
  count(bytes: number): void {
    this.#bytes.take(bytes + lineBytes);
  }

  /** Whether one more notification or request is read. */
  admits(): boolean {
    return this.#messages.takeIfThere(1);
  }

  /** Whether one more log message, update or unknown notification is read. */
  admitsNotice(): boolean {
    return this.#notices.takeIfThere(1);
  }

  /** How long nothing more is read from the server; 0 if reading continues. */
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

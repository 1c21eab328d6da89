import type { Clock } from "@postern/core";

/** Counts the calls and lists under way at one server, and tells when there was none for a time. */
export class ServerUse {
  readonly #clock: Clock;
  readonly #idleMs: number | undefined;
  readonly #onIdle: () => void;
  #count = 0;
  #cancelWait: (() => void) | undefined;

  /** @param idleMs left out: it does not tell */
  constructor(clock: Clock, idleMs: number | undefined, onIdle: () => void) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
  }

  get isInUse(): boolean {
    return this.#count > 0;
  }

  /** It is in use until the returned function is called, once. */
  hold(): () => void {
    this.#count += 1;
    this.end();
    return () => {
      this.#count -= 1;
      this.begin();
    };
  }

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = this.hold();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** The time without a use begins. */
  begin(): void {
    this.end();
    if (this.#idleMs === undefined || this.isInUse) return;
    this.#cancelWait = this.#clock.in(this.#idleMs, this.#onIdle, false);
  }

  end(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}

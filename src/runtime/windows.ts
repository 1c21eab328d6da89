import type { Clock } from "../core/clock.ts";
import type { CallContext, Runtime, RuntimeSession } from "./api.ts";

interface Window {
  readonly session: RuntimeSession;
  /** Monotonic milliseconds: no call begins in it later than this. */
  readonly lastCallAt: number;
  /** Monotonic milliseconds: when the last call came or went. */
  usedAt: number;
  users: number;
  over: boolean;
}

/** Whose budget it is has not been heard of for so long: what its results were pinned for is over. */
const idleMs = 900_000;
const atMost = 1_000;

/**
 * The budgets that calls of a door come out of. A client stays for days and a session's total time is an hour, so a
 * session is a window: when no whole call fits into what is left of it, the next call opens a new one.
 */
export class Windows {
  readonly #runtime: Pick<Runtime, "openSession" | "controls">;
  readonly #clock: Clock;
  /** The least recently used first. */
  readonly #open = new Map<string, Window>();
  #cancelSweep: (() => void) | undefined;

  constructor(runtime: Pick<Runtime, "openSession" | "controls">, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** For those who name no run: theirs is another one tomorrow, and so is their window. */
  get today(): string {
    return `day ${Math.floor(this.#clock.now() / 86_400_000)}`;
  }

  /**
   * A session has the level it was opened at: when an operator sets another one, the next call opens a new window.
   *
   * @param whose the same for all calls of one budget
   * @param context of the session, when one must be opened
   */
  async use<T>(whose: string, context: CallContext, call: (session: RuntimeSession) => Promise<T>): Promise<T> {
    const window = this.#window(`${whose}\n${this.#runtime.controls.state.autonomy}`, context);
    window.users += 1;
    try {
      return await call(window.session);
    } finally {
      window.users -= 1;
      window.usedAt = this.#clock.monotonic();
      await this.#release(window);
    }
  }

  async close(): Promise<void> {
    this.#cancelSweep?.();
    for (const [whose, window] of this.#open) this.#end(whose, window);
  }

  #window(whose: string, context: CallContext): Window {
    const now = this.#clock.monotonic();
    const known = this.#open.get(whose);
    const window = known !== undefined && now <= known.lastCallAt ? known : this.#opened(whose, context, now);
    window.usedAt = now;
    this.#open.delete(whose);
    this.#open.set(whose, window);
    return window;
  }

  #opened(whose: string, context: CallContext, now: number): Window {
    const session = this.#runtime.openSession({}, context);
    const old = this.#open.get(whose);
    if (old !== undefined) this.#end(whose, old);
    this.#sweep(now);
    const { totalTimeoutMs, callTimeoutMs, approvalWaitMs } = session.limits;
    const lastCallAt = now + totalTimeoutMs - Math.min(totalTimeoutMs / 2, callTimeoutMs + approvalWaitMs);
    return { session, lastCallAt, usedAt: now, users: 0, over: false };
  }

  /** The idle go, and of too many the least recently used; one with a call in it stays. */
  #sweep(now: number): void {
    let tooMany = this.#open.size - atMost + 1;
    for (const [whose, window] of this.#open) {
      const isOld = now > window.lastCallAt || now - window.usedAt >= idleMs;
      if (window.users > 0 || !(isOld || tooMany > 0)) continue;
      this.#end(whose, window);
      tooMany -= 1;
    }
    this.#cancelSweep ??= this.#clock.in(
      idleMs,
      () => {
        this.#cancelSweep = undefined;
        if (this.#open.size > 0) this.#sweep(this.#clock.monotonic());
      },
      false,
    );
  }

  #end(whose: string, window: Window): void {
    this.#open.delete(whose);
    window.over = true;
    void this.#release(window);
  }

  /** The last call of an ended window closes it: what its results were pinned for is over. */
  async #release(window: Window): Promise<void> {
    if (window.over && window.users === 0) await window.session.close();
  }
}

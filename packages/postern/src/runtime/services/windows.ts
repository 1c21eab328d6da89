import type { Clock } from "@postern/core";
import type { CallContext, Runtime, RuntimeSession } from "../api/api.ts";

interface Window {
  readonly session: RuntimeSession;
  /** Monotonic milliseconds: no call begins in it later than this. */
  readonly lastCallAt: number;
  /** Monotonic milliseconds: when a call last began or ended. */
  usedAt: number;
  users: number;
  over: boolean;
}

/** A window that is unused for this long is closed, and its pinned results are released. */
const idleMs = 900_000;
const atMost = 1_000;

/**
 * The budgets of calls that arrive at a server. A client stays for days, but a session's total time is an hour, so a
 * session is a window: when the rest of its time is too short for a whole call, the next call opens a new one.
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

  /** For callers that name no run: tomorrow they have another run, and so another window. */
  get today(): string {
    return `day ${Math.floor(this.#clock.now() / 86_400_000)}`;
  }

  /**
   * A session keeps the level it was opened with. When an operator sets another level, the next call opens a new
   * window.
   *
   * @param whose the same text for all calls of one budget
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

  /** Closes idle windows, and the least recently used ones when there are too many. A window with a running call stays. */
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

  /** The last call of an ended window closes it and so releases its pinned results. */
  async #release(window: Window): Promise<void> {
    if (window.over && window.users === 0) await window.session.close();
  }
}

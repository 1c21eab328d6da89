import type { Clock } from "../../calls/clock.ts";
import { directLimits } from "../../calls/session.ts";
import type { Runtime, RuntimeSession } from "../../face.ts";
import { callerKey, type McpCaller } from "./visit.ts";

interface Window {
  readonly session: RuntimeSession;
  /** Monotonic milliseconds: no call begins in it later than this. */
  readonly lastCallAt: number;
  users: number;
  over: boolean;
}

/**
 * The budget a client's calls come out of (D17). A client stays for days and a session's total time is an hour, so a
 * session is a window: when no whole call fits into what is left of it, the next call opens a new one. A caller whose
 * rights have changed gets a new one at once.
 */
export class Windows {
  readonly #runtime: Runtime;
  readonly #clock: Clock;
  readonly #open = new Map<string, Window>();

  constructor(runtime: Runtime, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** @param client whose budget it is: an MCP session, or "" for all requests of a caller that has none */
  async use<T>(client: string, caller: McpCaller, call: (session: RuntimeSession) => Promise<T>): Promise<T> {
    const window = this.#window(`${client}\n${callerKey(caller)}`, caller);
    window.users += 1;
    try {
      return await call(window.session);
    } finally {
      window.users -= 1;
      await this.#release(window);
    }
  }

  async close(): Promise<void> {
    for (const [key, window] of this.#open) this.#end(key, window);
  }

  #window(key: string, caller: McpCaller): Window {
    const now = this.#clock.monotonic();
    const known = this.#open.get(key);
    if (known !== undefined && now <= known.lastCallAt) return known;
    for (const [old, window] of this.#open) if (now > window.lastCallAt) this.#end(old, window);
    const { principal, scopes, autonomy } = caller;
    const session = this.#runtime.openSession(directLimits, {
      principal,
      scopes,
      ...(autonomy !== undefined && { autonomy }),
    });
    const { totalTimeoutMs, callTimeoutMs, approvalWaitMs } = session.limits;
    const lastCallAt = now + totalTimeoutMs - Math.min(totalTimeoutMs / 2, callTimeoutMs + approvalWaitMs);
    const window: Window = { session, lastCallAt, users: 0, over: false };
    this.#open.set(key, window);
    return window;
  }

  #end(key: string, window: Window): void {
    this.#open.delete(key);
    window.over = true;
    void this.#release(window);
  }

  /** The last call of an ended window closes it: what its results were pinned for is over. */
  async #release(window: Window): Promise<void> {
    if (window.over && window.users === 0) await window.session.close();
  }
}

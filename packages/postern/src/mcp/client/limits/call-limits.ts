/**
 * The operator's limits of one server: how many calls run at a time, and how many begin within a minute.
 *
 * Invariant: no more calls than `slots.usable` begin, and each one that begins was counted by `starts`. In a store that
 * several gateways share, both hold over all of them.
 * Next: shared-limits.ts (what gateways share), shared-slots.ts, shared-starts.ts.
 */
import { type Clock, messageOf } from "@postern/core";
import type { ServerConfig } from "../server-config.ts";
import { notSentError, rateLimitedError, type UpstreamCall } from "../upstream.ts";
import { OwnStarts, type Starts } from "./own-starts.ts";
import type { SharedLimits } from "./shared-limits.ts";
import type { CallSlots } from "./slot-shares.ts";

/** A call waits so long for its turn. This is shorter than the usual timeout, so it ends as "not run", not as "unknown". */
const mostWaitMs = 10_000;
/** So many calls of one caller wait. More are refused at once. */
const mostWaiting = 1_000;

type StartCall = () => void;

/**
 * A call above `concurrent` waits. Callers take turns, so one that sends many calls does not delay another one. A call above
 * `perMinute` is refused with the time when the next one may run.
 */
export class CallLimits {
  readonly #server: string;
  readonly #limits: NonNullable<ServerConfig["limits"]>;
  readonly #clock: Clock;
  readonly #slots: CallSlots;
  readonly #starts: Starts | undefined;
  readonly #waiting = new Map<string, StartCall[]>();
  #waitingCalls = 0;
  #running = 0;
  readonly #isLimited: boolean;

  /** @param shared missing if no other process uses the store */
  constructor(server: string, limits: ServerConfig["limits"], clock: Clock, shared?: SharedLimits) {
    this.#server = server;
    this.#isLimited = limits !== undefined;
    this.#limits = limits ?? {};
    this.#clock = clock;
    const { concurrent, perMinute } = this.#limits;
    const more = (): void => this.#startWaiting();
    this.#slots =
      concurrent === undefined || shared === undefined
        ? { usable: concurrent ?? Number.POSITIVE_INFINITY, used: () => undefined }
        : shared.slots(server, concurrent, more);
    if (perMinute !== undefined)
      this.#starts = shared === undefined ? new OwnStarts(perMinute, clock) : shared.starts(server, perMinute);
  }

  /** @throws Error with `notExecuted` if the call may not run now */
  run<Answer>(tool: string, call: UpstreamCall, send: () => Promise<Answer>): Promise<Answer> {
    return this.#isLimited ? this.#run(tool, call, send) : send();
  }

  async #run<Answer>(tool: string, call: UpstreamCall, send: () => Promise<Answer>): Promise<Answer> {
    this.#checkMinute(tool, this.#starts?.fullUntil());
    if (this.#running < this.#slots.usable) {
      this.#running += 1;
      this.#used();
    } else await this.#turn(tool, call);
    try {
      const counted = this.#starts?.count();
      this.#checkMinute(tool, counted instanceof Promise ? await this.#answer(tool, counted, call) : counted);
      return await send();
    } finally {
      this.#running -= 1;
      this.#startWaiting();
    }
  }

  #used(): void {
    this.#slots.used({ running: this.#running, waiting: this.#waitingCalls });
  }

  /** What the store says, unless it takes too long or the call ends. */
  async #answer(
    tool: string,
    counted: Promise<number | undefined>,
    { signal }: UpstreamCall,
  ): Promise<number | undefined> {
    const { promise: isOver, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(new Error("the call ended before"));
    const cancelWait = this.#clock.in(mostWaitMs, () => reject(new Error(`no answer within ${mostWaitMs / 1000} s`)));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([counted, isOver]);
    } catch (error) {
      const why = `the store could not count it: ${messageOf(error)}`;
      throw notSentError(`Tool \`${tool}\`: server \`${this.#server}\` has a limit of calls a minute; ${why}`, error);
    } finally {
      cancelWait();
      signal.removeEventListener("abort", onAbort);
    }
  }

  #checkMinute(tool: string, resetsAt: number | undefined): void {
    if (resetsAt === undefined) return;
    const { perMinute } = this.#limits;
    const until = new Date(resetsAt).toISOString();
    throw rateLimitedError(
      `Tool \`${tool}\`: server \`${this.#server}\` takes ${perMinute} calls a minute; the next one may run at ${until}.`,
      resetsAt,
    );
  }

  #turn(tool: string, { caller: callerOf, signal }: UpstreamCall): Promise<void> {
    const caller = callerOf?.() ?? "";
    const queue = this.#waiting.get(caller) ?? [];
    const { concurrent } = this.#limits;
    const busy = `Tool \`${tool}\`: server \`${this.#server}\` runs ${concurrent} calls at a time`;
    if (queue.length >= mostWaiting)
      throw notSentError(`${busy}, and ${mostWaiting} calls of this caller wait already. Send it again later.`);
    this.#waiting.set(caller, queue);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (why: string): void => {
      stopWaiting();
      queue.splice(queue.indexOf(start), 1);
      if (queue.length === 0) this.#waiting.delete(caller);
      reject(notSentError(`${busy}; ${why}.`));
      this.#used();
    };
    const onAbort = (): void => leave("the call ended before its turn");
    const cancelWait = this.#clock.in(mostWaitMs, () => leave(`its turn did not come within ${mostWaitMs / 1000} s`));
    const stopWaiting = (): void => {
      this.#waitingCalls -= 1;
      cancelWait();
      signal.removeEventListener("abort", onAbort);
    };
    const start: StartCall = () => {
      stopWaiting();
      resolve();
    };
    queue.push(start);
    this.#waitingCalls += 1;
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else this.#used();
    return promise;
  }

  /** The first caller's first call starts, and that caller goes to the end. */
  #startWaiting(): void {
    for (const [caller, queue] of this.#waiting) {
      if (this.#running >= this.#slots.usable) break;
      const start = queue.shift();
      this.#waiting.delete(caller);
      if (queue.length > 0) this.#waiting.set(caller, queue); // the iteration comes to it again
      this.#running += 1;
      start?.();
    }
    this.#used();
  }
}

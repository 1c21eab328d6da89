import type { Clock } from "@postern/core";
import type { ServerConfig } from "./server-config.ts";
import { notSentError, rateLimitedError, type UpstreamCall } from "./upstream.ts";

const minuteMs = 60_000;
/** A call waits so long for its turn. This is shorter than the usual timeout, so it ends as "not run", not as "unknown". */
const mostWaitMs = 10_000;
/** So many calls of one caller wait. More are refused at once. */
const mostWaiting = 1_000;

type StartCall = () => void;

/**
 * The operator's limits of one server. A call above `concurrent` waits. Callers take turns, so one that sends many calls does
 * not delay another one. A call above `perMinute` is refused with the time when the next one may run.
 */
export class CallLimits {
  readonly #server: string;
  readonly #limits: NonNullable<ServerConfig["limits"]>;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, StartCall[]>();
  /** Starts within the last minute, oldest first; the monotonic clock. */
  #starts: number[] = [];
  #running = 0;
  readonly #isLimited: boolean;

  constructor(server: string, limits: ServerConfig["limits"], clock: Clock) {
    this.#server = server;
    this.#isLimited = limits !== undefined;
    this.#limits = limits ?? {};
    this.#clock = clock;
  }

  /** @throws Error with `notExecuted` if the call may not run now */
  run<Answer>(tool: string, call: UpstreamCall, send: () => Promise<Answer>): Promise<Answer> {
    return this.#isLimited ? this.#run(tool, call, send) : send();
  }

  async #run<Answer>(tool: string, call: UpstreamCall, send: () => Promise<Answer>): Promise<Answer> {
    const { concurrent = Number.POSITIVE_INFINITY, perMinute } = this.#limits;
    if (perMinute !== undefined) this.#count(tool, perMinute);
    if (this.#running < concurrent) this.#running += 1;
    else await this.#turn(tool, call);
    try {
      return await send();
    } finally {
      this.#next();
    }
  }

  #count(tool: string, perMinute: number): void {
    const now = this.#clock.monotonic();
    const firstIn = this.#starts.findIndex((at) => at > now - minuteMs);
    this.#starts = firstIn < 0 ? [] : this.#starts.slice(firstIn);
    const [oldest = now] = this.#starts;
    if (this.#starts.length < perMinute) return void this.#starts.push(now);
    const resetsAt = Math.ceil(this.#clock.now() + oldest + minuteMs - now);
    const until = new Date(resetsAt).toISOString();
    throw rateLimitedError(
      `Tool \`${tool}\`: server \`${this.#server}\` takes ${perMinute} calls a minute; the next one may run at ${until}.`,
      resetsAt,
    );
  }

  /** The call that ends gives its place to this one, so `#running` stays the same. */
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
    };
    const onAbort = (): void => leave("the call ended before its turn");
    const cancelWait = this.#clock.in(mostWaitMs, () => leave(`its turn did not come within ${mostWaitMs / 1000} s`));
    const stopWaiting = (): void => {
      cancelWait();
      signal.removeEventListener("abort", onAbort);
    };
    const start: StartCall = () => {
      stopWaiting();
      resolve();
    };
    queue.push(start);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    return promise;
  }

  /** The first caller's first call starts, and that caller goes to the end. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [caller, queue] = first;
    const start = queue.shift();
    this.#waiting.delete(caller);
    if (queue.length > 0) this.#waiting.set(caller, queue);
    start?.();
  }
}

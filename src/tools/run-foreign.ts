import { types } from "node:util";
import type { Clock } from "../core/clock.ts";

export type Ran<T> =
  | { readonly ran: "returned"; readonly value: T }
  | { readonly ran: "threw"; readonly error: unknown }
  | { readonly ran: "timed_out" }
  | { readonly ran: "cancelled" };

export interface ForeignLimits<T> {
  readonly clock: Clock;
  /** None: it may take as long as it likes. */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Monotonic milliseconds; then it counts as cancelled (case 51). */
  readonly deadline?: number | undefined;
  /** What came after the end, to be looked at by nobody but a log. */
  readonly onLate?: ((late: Ran<T>) => void) | undefined;
}

/** The signal of one run, and its end; a controller exists only once somebody asks, which most tools never do. */
export class LazySignal {
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #over = false;
  #afterwards: (() => void) | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Whether it ended, in whatever way: what was lent to it works no more. */
  get over(): boolean {
    return this.#over;
  }

  /** Called once, when the run is over: at once, when it is. */
  afterwards(then: () => void): void {
    if (this.#over) then();
    else this.#afterwards = then;
  }

  end(): void {
    this.#over = true;
    this.#afterwards?.();
    this.#afterwards = undefined;
  }

  /** @throws the reason, when the run was aborted */
  check(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }

  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }
}

/**
 * The one place where somebody else's code runs (execute, preview, reconcile, classifyRisk): bounded in time, abortable.
 * A body that answers at once costs no timer and no listener.
 *
 * Contract: never throws or rejects. After a timeout or a cancellation the body's signal is aborted and whatever it
 * still answers is only told to `onLate`.
 */
export async function runForeign<T>(
  body: (lazy: LazySignal) => T | PromiseLike<T>,
  limits: ForeignLimits<T>,
): Promise<Ran<T>> {
  const { clock, signal, deadline } = limits;
  if (signal?.aborted === true || (deadline !== undefined && clock.monotonic() >= deadline))
    return { ran: "cancelled" };
  const lazy = new LazySignal();
  try {
    const answer = body(lazy);
    if (isThenable(answer)) return await awaitForeign(answer, lazy, limits);
    lazy.end();
    return { ran: "returned", value: answer };
  } catch (error) {
    lazy.end();
    return { ran: "threw", error };
  }
}

/** Reading `then` may itself throw: the caller's `catch` takes it. */
function isThenable<T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> {
  if ((typeof answer !== "object" && typeof answer !== "function") || answer === null) return false;
  return answer instanceof Promise || ("then" in answer && typeof answer.then === "function");
}

function awaitForeign<T>(answer: PromiseLike<T>, lazy: LazySignal, limits: ForeignLimits<T>): Promise<Ran<T>> {
  return new Promise((resolve) => {
    let ended = false;
    let letGo: (() => void) | undefined;
    const end = (ran: Ran<T>): void => {
      if (ended) {
        tellLate(ran, limits);
        return;
      }
      ended = true;
      lazy.end();
      letGo?.();
      resolve(ran);
    };
    Promise.prototype.then.call(
      ownPromise(answer),
      (value: unknown) => end({ ran: "returned", value: value as T }), // what the answer was a promise of
      (error: unknown) => end({ ran: "threw", error }),
    );
    // An async body that had nothing to wait for is done within a few microtasks: then nothing needs to be armed.
    let turns = 4;
    const arm = (): void => {
      if (ended) return;
      turns -= 1;
      if (turns >= 0) void resolved.then(arm);
      else letGo = guard(limits, lazy, end);
    };
    arm();
  });
}

function tellLate<T>(late: Ran<T>, { onLate }: ForeignLimits<T>): void {
  try {
    onLate?.(late);
  } catch {
    // The run is over: a log that fails has nobody left to hear of it.
  }
}

/** Its `then` queues a microtask; `queueMicrotask` would make an async resource as well. */
const resolved = Promise.resolve();

/** The engine's own promise takes over: it settles once, and turns whatever a hostile `then` does into a rejection. */
function ownPromise<T>(answer: PromiseLike<T>): Promise<T> {
  const isPlain = types.isPromise(answer) && Object.getPrototypeOf(answer) === Promise.prototype;
  const isAltered = isPlain && (Object.hasOwn(answer, "constructor") || Object.hasOwn(answer, "then"));
  if (isPlain && !isAltered) return answer as Promise<T>; // it is one, and nothing else
  return new Promise<T>((settle) => settle(answer));
}

/** Arms the timer and the listener; what it returns takes both away. */
function guard<T>(
  { clock, limitMs, signal, deadline }: ForeignLimits<T>,
  lazy: LazySignal,
  end: (ran: Ran<T>) => void,
): () => void {
  const cancel = (reason: unknown): void => {
    end({ ran: "cancelled" });
    lazy.abort(reason);
  };
  const onAbort = (): void => cancel(signal?.reason);
  if (signal?.aborted === true) {
    onAbort();
    return () => {};
  }
  signal?.addEventListener("abort", onAbort, { once: true });
  const leftMs = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - clock.monotonic();
  const waitMs = Math.min(leftMs, limitMs ?? Number.POSITIVE_INFINITY);
  const disarm = Number.isFinite(waitMs)
    ? clock.in(waitMs, () => {
        if (leftMs <= waitMs) return cancel(new DOMException("The call's deadline has passed.", "AbortError"));
        end({ ran: "timed_out" });
        lazy.abort(new DOMException(`The call took longer than ${waitMs} ms.`, "TimeoutError"));
      })
    : undefined;
  return () => {
    disarm?.();
    signal?.removeEventListener("abort", onAbort);
  };
}

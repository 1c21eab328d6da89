import { types } from "node:util";
import type { Clock } from "@postern/core";

export type Ran<T> =
  | { readonly ran: "returned"; readonly value: T }
  | { readonly ran: "threw"; readonly error: unknown }
  | { readonly ran: "timed_out" }
  /** Postern stops, and waits no longer. */
  | { readonly ran: "stopped" }
  | { readonly ran: "cancelled" };

export interface ForeignLimits<T> {
  readonly clock: Clock;
  /** Left out: no time limit. */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Monotonic milliseconds. After it, the run counts as cancelled. */
  readonly deadline?: number | undefined;
  /** Calls `then` once when Postern waits no longer for what runs. Returns a function that takes it back. */
  readonly onStop?: ((then: () => void) => () => void) | undefined;
  /** Receives what the body answers after the end, for a log. */
  readonly onLate?: ((late: Ran<T>) => void) | undefined;
}

/** The signal of one run, and its end. It makes a controller only when a tool reads the signal, which most never do. */
export class LazySignal {
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #over = false;
  #onEnd: (() => void) | undefined;

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

  /** The run has ended, so its context no longer works. */
  get over(): boolean {
    return this.#over;
  }

  /** Calls `then` once, when the run is over; at once if it is over already. */
  onEnd(then: () => void): void {
    if (this.#over) then();
    else this.#onEnd = then;
  }

  end(): void {
    this.#over = true;
    this.#onEnd?.();
    this.#onEnd = undefined;
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
 * The only place that runs third-party code (execute, preview, reconcile, classifyRisk), with a time limit and a signal. A
 * body that answers at once needs no timer and no listener.
 *
 * Contract: never throws or rejects. After a timeout or a cancellation the body's signal is aborted, and only `onLate`
 * receives what the body still answers.
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

/** Reading `then` may throw; the caller catches it. */
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
        reportLate(ran, limits);
        return;
      }
      ended = true;
      lazy.end();
      letGo?.();
      resolve(ran);
    };
    Promise.prototype.then.call(
      ownPromise(answer),
      (value: unknown) => end({ ran: "returned", value: value as T }), // the type of the promised value
      (error: unknown) => end({ ran: "threw", error }),
    );
    // An async body that waits for nothing ends within a few microtasks, and then needs no timer.
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

function reportLate<T>(late: Ran<T>, { onLate }: ForeignLimits<T>): void {
  try {
    onLate?.(late);
  } catch {
    // The run is over, so a failing log has no effect.
  }
}

/** Its `then` queues a microtask. `queueMicrotask` would make an async resource too. */
const resolved = Promise.resolve();

/** A native promise settles once, and turns every fault of a hostile `then` into a rejection. */
function ownPromise<T>(answer: PromiseLike<T>): Promise<T> {
  const isPlain = types.isPromise(answer) && Object.getPrototypeOf(answer) === Promise.prototype;
  const isAltered = isPlain && (Object.hasOwn(answer, "constructor") || Object.hasOwn(answer, "then"));
  if (isPlain && !isAltered) return answer as Promise<T>; // a native promise without changes
  return new Promise<T>((settle) => settle(answer));
}

/** Starts the timer and the listener. Returns a function that removes both. */
function guard<T>(
  { clock, limitMs, signal, deadline, onStop }: ForeignLimits<T>,
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
  const stay = onStop?.(() => {
    end({ ran: "stopped" });
    lazy.abort(new DOMException("Postern stops.", "AbortError"));
  });
  return () => {
    stay?.();
    disarm?.();
    signal?.removeEventListener("abort", onAbort);
  };
}

/** The only source of time. Use the wall clock for expiry and the monotonic clock for durations and timeouts. */
export interface Clock {
  /** Milliseconds since 1970, whole. */
  now(): number;
  /** Milliseconds that only grow, with fractions. */
  monotonic(): number;
  /**
   * Calls `then` once after this time. The returned function cancels it.
   *
   * @param keepsAlive whether the process must stay alive for it: true for timeouts, false for housekeeping
   */
  in(ms: number, then: () => void, keepsAlive?: boolean): () => void;
}

interface Waiter {
  readonly due: number;
  readonly then: () => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
}

/** Waits of one length are due in the order they began, so they share one list and one timer. */
class WaitList {
  readonly #ms: number;
  readonly #keepsAlive: boolean;
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number, keepsAlive: boolean) {
    this.#ms = ms;
    this.#keepsAlive = keepsAlive;
  }

  add(then: () => void): () => void {
    const waiter: Waiter = { due: performance.now() + this.#ms, then, previous: this.#last, next: undefined };
    if (this.#last === undefined) {
      this.#first = waiter;
      if (this.#keepsAlive) this.#timer?.ref();
    } else this.#last.next = waiter;
    this.#last = waiter;
    this.#timer ??= this.#arm(this.#ms);
    return () => this.#remove(waiter);
  }

  #remove(waiter: Waiter): void {
    if (waiter !== this.#first && waiter.previous === undefined) return; // already removed
    if (waiter.previous === undefined) this.#first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === undefined) this.#last = waiter.previous;
    else waiter.next.previous = waiter.previous;
    waiter.previous = undefined;
    waiter.next = undefined;
    if (this.#first === undefined) this.#timer?.unref(); // the timer may stay: it keeps no process alive
  }

  #arm(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => this.#expire(), ms);
    return this.#keepsAlive ? timer : timer.unref();
  }

  #expire(): void {
    const now = performance.now();
    while (this.#first !== undefined && this.#first.due <= now) {
      const waiter = this.#first;
      this.#remove(waiter);
      waiter.then();
    }
    this.#timer = this.#first === undefined ? undefined : this.#arm(Math.max(1, this.#first.due - performance.now()));
  }
}

/** The longest wait `setTimeout` can keep; beyond it Node fires at once. */
const longestMs = 2 ** 31 - 1;

export class SystemClock implements Clock {
  readonly #lists = new Map<number, WaitList>();

  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  in(ms: number, then: () => void, keepsAlive = true): () => void {
    const length = Math.min(longestMs, Math.max(0, Math.ceil(ms)));
    const name = keepsAlive ? length : -1 - length;
    let list = this.#lists.get(name);
    if (list === undefined) {
      if (this.#lists.size > 1_000) this.#lists.clear(); // their timers go on; they are only shared no longer
      list = new WaitList(length, keepsAlive);
      this.#lists.set(name, list);
    }
    return list.add(then);
  }
}

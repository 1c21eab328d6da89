/** The only time there is. Wall clock for expiry, monotonic for durations and timeouts. */
export interface Clock {
  /** Milliseconds since 1970, whole. */
  now(): number;
  /** Milliseconds that only grow, with fractions. */
  monotonic(): number;
  /**
   * Calls `then` once after so many milliseconds; what it returns takes that back.
   *
   * @param keepsAlive whether the process must live on for it. Somebody waits for a timeout; nobody waits for housekeeping.
   */
  in(ms: number, then: () => void, keepsAlive?: boolean): () => void;
}

interface Waiter {
  readonly due: number;
  readonly then: () => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
}

/** Waits of one length come due in the order they began: one list and one timer a length, instead of a timer a wait. */
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
    if (waiter !== this.#first && waiter.previous === undefined) return; // it is out already
    if (waiter.previous === undefined) this.#first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === undefined) this.#last = waiter.previous;
    else waiter.next.previous = waiter.previous;
    waiter.previous = undefined;
    waiter.next = undefined;
    if (this.#first === undefined) this.#timer?.unref(); // it may run out; nobody waits for it
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
      if (this.#lists.size > 1_000) this.#lists.clear(); // their timers go on; only sharing ends
      list = new WaitList(length, keepsAlive);
      this.#lists.set(name, list);
    }
    return list.add(then);
  }
}

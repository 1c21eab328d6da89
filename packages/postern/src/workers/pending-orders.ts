import type { Clock } from "@postern/core";
import type { ClaimedCall } from "../pipeline/gates/stages.ts";
import type { ToolContext } from "../tools/tool.ts";

/** How long a call waits for a free worker, and an order for a worker that takes it, in milliseconds. */
const mostWaitMs = 30_000;
const takeMs = 10_000;

/** A call that runs on a worker, until it has its end. */
export interface PendingOrder {
  readonly call: ClaimedCall;
  readonly context: ToolContext;
  readonly group: string;
  readonly end: { resolve(value: unknown): void; reject(error: unknown): void };
  readonly deadline: number;
  state: "waiting" | "sent" | "taken";
  /** Monotonic milliseconds: until when the state is good. */
  until: number;
  checking: boolean;
  /** Of the stream that its messages are in. */
  storeMade: string | undefined;
}

/** Orders whose calls have no end yet: those that wait for a free worker, in order, and those that were sent. */
export class PendingOrders {
  readonly #clock: Clock;
  /** How long a worker is believed after its last sign, in milliseconds. */
  readonly #leaseMs: number;
  readonly #all = new Map<string, PendingOrder>();
  readonly #waiting = new Map<string, PendingOrder[]>();

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  get all(): readonly PendingOrder[] {
    return [...this.#all.values()];
  }

  of(callId: string): PendingOrder | undefined {
    return this.#all.get(callId);
  }

  waitingIn(group: string): number {
    return this.#waiting.get(group)?.length ?? 0;
  }

  sentIn(group: string): number {
    let sent = 0;
    for (const { group: own, state } of this.#all.values()) if (own === group && state !== "waiting") sent += 1;
    return sent;
  }

  /**
   * The order waits from now on. It ends while it certainly did not run, and not by the timeout of the call, which could
   * not know that.
   *
   * @param leftMs until the call is over
   */
  add(order: Pick<PendingOrder, "call" | "context" | "group" | "end">, leftMs: number): PendingOrder {
    const pending: PendingOrder = {
      ...{ ...order, state: "waiting", checking: false, storeMade: undefined },
      deadline: Math.min(this.#clock.now() + leftMs, Number.MAX_SAFE_INTEGER),
      until: this.#clock.monotonic() + Math.min(mostWaitMs, leftMs / 2),
    };
    const { call, group } = order;
    this.#all.set(call.id, pending);
    const queue = this.#waiting.get(group);
    if (queue === undefined) this.#waiting.set(group, [pending]);
    else queue.push(pending);
    return pending;
  }

  /** The first that waits, which is sent now. */
  next(group: string): PendingOrder | undefined {
    const pending = this.#waiting.get(group)?.shift();
    if (pending === undefined) return undefined;
    pending.state = "sent";
    pending.until = this.#clock.monotonic() + this.takeMsOf(pending);
    return pending;
  }

  /** How long a worker may take to begin. Half of the call's time is left for it to be told that none did. */
  takeMsOf({ deadline }: PendingOrder): number {
    return Math.max(0, Math.min(takeMs, (deadline - this.#clock.now()) / 2));
  }

  /** A worker runs it. */
  take(pending: PendingOrder): void {
    pending.state = "taken";
    this.renew(pending);
  }

  renew(pending: PendingOrder): void {
    if (pending.state === "waiting") return;
    pending.until = this.#clock.monotonic() + (pending.state === "taken" ? this.#leaseMs : takeMs);
  }

  /** Those whose state is not good any more, and that nothing looks after. */
  overdue(): readonly PendingOrder[] {
    return this.all.filter(({ until, checking }) => until < this.#clock.monotonic() && !checking);
  }

  /** Returns false if it has had its end. */
  remove(pending: PendingOrder): boolean {
    const { call, group } = pending;
    if (this.#all.get(call.id) !== pending) return false;
    this.#all.delete(call.id);
    const queue = this.#waiting.get(group) ?? [];
    const at = queue.indexOf(pending);
    if (at >= 0) queue.splice(at, 1);
    return true;
  }
}

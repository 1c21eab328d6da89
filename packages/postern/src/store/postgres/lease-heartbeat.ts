import { messageOf, RuntimeFault, SystemClock } from "@postern/core";
import type { DatabaseClock } from "./database-clock.ts";
import { isConnectionLost } from "./database-errors.ts";
import type { DatabaseLink } from "./database-link.ts";
import { lostBehind, type Opening } from "./opening.ts";

export interface LeaseHeartbeatOptions {
  readonly opening: Opening;
  readonly link: DatabaseLink;
  readonly clock: DatabaseClock;
  /** The step of the schema that this Postern knows. */
  readonly step: number;
  readonly leaseMs: number;
  readonly log: (problem: string) => void;
  readonly stop: (fault: RuntimeFault) => void;
}

/** So many beats in a lease: one may be late, and one lost. */
const beatsALease = 4;
/** After a lost connection the next beat follows as soon as there is a new one: so many such tries fit in a lease. */
const triesALease = 40;
/** An answer that takes half a lease is given up: then there is time for another beat before the lease is over. */
const answersALease = 2;
const machine = new SystemClock();

/** How long the connection of the beats waits for an answer, in milliseconds. */
export function beatAnswerMs(leaseMs: number): number {
  return Math.ceil(leaseMs / answersALease);
}

/** Renews the lease of this opening, and asks for the time and for the oldest Postern that the store still works with. */
export class LeaseHeartbeat {
  readonly #options: LeaseHeartbeatOptions;
  #cancel: (() => void) | undefined;
  #renewedAt: number = Number.NEGATIVE_INFINITY;
  #isStopped = false;

  constructor(options: LeaseHeartbeatOptions) {
    this.#options = options;
  }

  /** Monotonic: until then no other process takes the calls of this one, and a quarter of the lease is left to act in. */
  get heldUntil(): number {
    return this.#renewedAt + this.#options.leaseMs * (1 - 1 / beatsALease);
  }

  async beat(): Promise<void> {
    const { opening, link, clock, leaseMs, step, stop } = this.#options;
    const text = `update opening set lease_until = clock_timestamp() + make_interval(secs => $2) where number = $1
      returning extract(epoch from clock_timestamp()) * 1000 as now, (select max(oldest) from version) as oldest`;
    const found = await link.run(async (client) => {
      const askedAt = clock.monotonic();
      const began = machine.monotonic();
      const values = [opening.number, leaseMs / 1000];
      const { rows } = await client.query<{ now: string; oldest: number }>({ name: "beat", text, values });
      return { row: rows[0], askedAt, began };
    });
    if (found === undefined) return;
    const { row, askedAt, began } = found;
    if (row === undefined) return stop(lostBehind("the row of this process is gone"));
    this.#renewedAt = began;
    clock.set(Number(row.now), askedAt);
    if (row.oldest > step) {
      const message = `The schema of the store was changed by a newer Postern (it needs step ${row.oldest}; this one knows ${step}). The store has stopped. Install the newer one.`;
      stop(new RuntimeFault("store_newer", message));
    }
  }

  start(): void {
    this.#beatAfter(this.#options.leaseMs / beatsALease);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #beatAfter(ms: number): void {
    if (!this.#isStopped) this.#cancel = machine.in(ms, () => void this.#beatAndGoOn(), false);
  }

  async #beatAndGoOn(): Promise<void> {
    const { leaseMs, log } = this.#options;
    try {
      await this.beat();
    } catch (error) {
      if (isConnectionLost(error)) return this.#beatAfter(leaseMs / triesALease);
      log(`The lease could not be renewed: ${messageOf(error)}`);
    }
    this.#beatAfter(leaseMs / beatsALease);
  }
}

import { type Clock, messageOf } from "@postern/core";
import type { Store } from "./store.ts";

export interface LeaseOptions {
  readonly store: Pick<Store, "leases">;
  /** What its owner does, for all processes on the store: `channel ops`. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  /** How long the owner keeps it after its last beat. */
  readonly forMs?: number;
  /** Runs when this process becomes the owner. */
  readonly begin?: () => void;
}

const usualMs = 15_000;
const beatsALease = 3;

/**
 * The right to do what only one of several processes may do. The owner renews it; when it is gone, another process takes
 * it. In a store that only this process uses, it is always the owner.
 *
 * Invariant: `isOwner` is true only while the store would refuse it to another process, also if no answer of the store
 * arrives any more.
 */
export class Lease implements AsyncDisposable {
  readonly #options: LeaseOptions;
  /** Monotonic: until then the store refuses it to others. */
  #until: number;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#until = options.store.leases === undefined ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }

  /** Takes it if it is free, and goes on trying. */
  async open(): Promise<this> {
    if (this.#options.store.leases === undefined) this.#options.begin?.();
    else await this.#beat();
    return this;
  }

  get isOwner(): boolean {
    return this.#options.clock.monotonic() < this.#until;
  }

  /** Another process can take it at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    const { store, name, log } = this.#options;
    const wasOwner = this.isOwner;
    this.#until = Number.NEGATIVE_INFINITY;
    if (wasOwner)
      await store.leases
        ?.release(name)
        .catch((error) => log(`The lease \`${name}\` ends by itself: ${messageOf(error)}`));
  }

  async #beat(): Promise<void> {
    const { store, name, clock, log, begin, forMs = usualMs } = this.#options;
    const asked = clock.monotonic();
    try {
      const isTaken = (await store.leases?.take(name, forMs)) ?? false;
      const wasOwner = this.isOwner; // asked now: it may have ended while the store was slow
      if (isTaken && this.#isClosed) await store.leases?.release(name);
      this.#until = isTaken && !this.#isClosed ? asked + forMs : Number.NEGATIVE_INFINITY;
      if (this.isOwner && !wasOwner) begin?.();
    } catch (error) {
      log(`The lease \`${name}\` could not be renewed: ${messageOf(error)}`);
    }
    if (!this.#isClosed) this.#cancel = clock.in(forMs / beatsALease, () => void this.#beat(), false);
  }
}

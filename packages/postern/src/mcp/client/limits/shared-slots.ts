import { isDeepStrictEqual } from "node:util";
import { type Clock, messageOf } from "@postern/core";
import type { CollectionChange } from "../../../store/collection.ts";
import type { Lease } from "../../../store/lease.ts";
import type { LiveCollection } from "../../../store/live-collection.ts";
import {
  type CallSlots,
  noShares,
  type SlotShare,
  type SlotShares,
  type SlotUse,
  sharedOut,
  shareOf,
  slotsKept,
  without,
} from "./slot-shares.ts";

export interface SharedSlotsOptions {
  /** The name of this gateway. */
  readonly id: string;
  readonly shares: LiveCollection<SlotShares>;
  readonly lease: Pick<Lease, "isOwner">;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
  /** Runs when more calls may run here. */
  readonly more: () => void;
  /** Whether the lease of another gateway is over. If so, it cannot renew it until `forget`. */
  readonly isGone: (id: string) => Promise<boolean>;
  readonly forget: (id: string) => Promise<void>;
}

/** If calls wait in several gateways, each keeps a slot at least this long, so that it does not move with each call. */
const turnMs = 250;
/** While calls wait, the shares are looked at so often: the share of a gateway that is gone is free. */
const lookMs = 1_000;
/** A gateway without calls gives its slots back after this time. */
const idleMs = 30_000;

/**
 * The slots of a server that this gateway may use, as the document of the server says. Each change of the document gives
 * free slots to those that wait, and each gateway follows it, so a slot moves with one write.
 *
 * Invariant: `usable` counts only slots that this gateway wrote or saw in the document since its lease began. Only it
 * takes slots from itself while it owns the lease.
 */
export class SharedSlots implements CallSlots {
  readonly #server: string;
  readonly #most: number;
  readonly #options: SharedSlotsOptions;
  #use: SlotUse = { running: 0, waiting: 0 };
  /** How often the lease began. What was written before does not count. */
  #leases = 0;
  /** Whether the document has the share of this lease. */
  #isEntered = false;
  /** While a write is under way: no more than it leaves. */
  #leaves = Number.POSITIVE_INFINITY;
  #writing: Promise<void> | undefined;
  /** The last write has failed. */
  #hasFailed = false;
  #isReported = false;
  #holds = 0;
  /** Monotonic: when it last got a slot. */
  #gainedAt = Number.NEGATIVE_INFINITY;
  #cancelLook: (() => void) | undefined;
  #cancelIdle: (() => void) | undefined;
  #isIdle = false;
  #isClosed = false;

  constructor(server: string, most: number, options: SharedSlotsOptions) {
    this.#server = server;
    this.#most = most;
    this.#options = options;
  }

  get usable(): number {
    if (!this.#isEntered || !this.#options.lease.isOwner) return 0;
    return Math.min(this.#leaves, this.#kept(this.#shares));
  }

  used(now: SlotUse): void {
    this.#use = now;
    if (this.#isClosed) return;
    this.#isIdle = false;
    this.#cancelIdle?.();
    const mayIdle = now.running + now.waiting === 0 && this.#holds > 0;
    this.#cancelIdle = mayIdle ? this.#options.clock.in(idleMs, () => this.#idle(), false) : undefined;
    if (now.waiting > 0) this.#lookLater();
    if (now.waiting > 0 && now.running < this.usable)
      this.#options.more(); // calls this again
    else if (this.#isDue()) this.#write();
  }

  /** What it held before may belong to others now. */
  leaseBegins(): void {
    this.#leases += 1;
    this.#isEntered = false;
    if (this.#isDue()) this.#write();
  }

  sharesChanged(): void {
    const { holds } = this.#share;
    if (holds > this.#holds) this.#gainedAt = this.#options.clock.monotonic();
    this.#holds = holds;
    if (this.#writing === undefined) this.#options.more(); // calls `used`
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelLook?.();
    this.#cancelIdle?.();
    await this.#writing;
    if (this.#isEntered && this.#options.lease.isOwner && this.#hasShare) this.#write();
    await this.#writing;
  }

  get #shares(): SlotShares {
    return this.#options.shares.at(this.#server) ?? noShares;
  }

  get #share(): SlotShare {
    return shareOf(this.#shares, this.#options.id);
  }

  get #hasShare(): boolean {
    return this.#share.holds + this.#share.wants > 0;
  }

  #kept(shares: SlotShares): number {
    const { id, clock } = this.#options;
    const isItsTurn = this.#use.waiting > 0 && clock.monotonic() - this.#gainedAt < turnMs;
    return isItsTurn ? shareOf(shares, id).holds : slotsKept(shares, id, this.#use);
  }

  #isDue(): boolean {
    if (this.#writing !== undefined || this.#hasFailed || this.#isClosed || !this.#options.lease.isOwner) return false;
    const { running, waiting } = this.#use;
    if (!this.#isEntered) return running + waiting > 0 || this.#hasShare;
    const { holds, wants } = this.#share;
    if (Math.max(running, this.#kept(this.#shares)) < holds) return true;
    return waiting > 0 && wants === 0;
  }

  get #hasOthers(): boolean {
    return Object.keys(this.#shares.gateways).some((id) => id !== this.#options.id);
  }

  #lookLater(): void {
    this.#cancelLook ??= this.#options.clock.in(lookMs, () => this.#look(), false);
  }

  #look(): void {
    this.#cancelLook = undefined;
    const hadFailed = this.#hasFailed;
    this.#hasFailed = false;
    const isWaiting = this.#use.waiting > 0;
    if (isWaiting || hadFailed || this.#share.wants > 0) this.#lookLater();
    if (this.#writing !== undefined || !this.#options.lease.isOwner) return;
    if (hadFailed || (isWaiting ? this.#hasOthers : this.#share.wants > 0)) this.#write(isWaiting);
  }

  #idle(): void {
    this.#isIdle = true;
    if (this.#writing === undefined && this.#options.lease.isOwner) this.#write();
  }

  /** @param mayTake takes also the share of gateways that are gone */
  #write(mayTake = false): void {
    const { shares, log, more, forget } = this.#options;
    const leases = this.#leases;
    let gone: ReadonlySet<string> = new Set();
    const next = async (found = noShares): Promise<CollectionChange<SlotShares> | undefined> => {
      if (mayTake) gone = await this.#gone(found);
      const item = this.#next(without(found, gone));
      return this.#isEntered && isDeepStrictEqual(item, found) ? undefined : { item };
    };
    const write = async (): Promise<void> => {
      try {
        await shares.change(this.#server, next);
        if (leases === this.#leases) this.#isEntered = true;
        this.#leaves = Number.POSITIVE_INFINITY;
        this.#isReported = false;
        for (const id of gone) await forget(id);
      } catch (error) {
        if (!this.#isClosed) this.#lookLater();
        this.#hasFailed = true;
        const problem = `The slots of server \`${this.#server}\` could not be shared with other gateways`;
        if (!this.#isReported) log(`${problem}: ${messageOf(error)}`);
        this.#isReported = true;
      } finally {
        this.#writing = undefined;
      }
    };
    this.#writing = write().then(() => more());
  }

  /** From here to the answer of the store, no more calls run than the new shares leave to this gateway. */
  #next(shares: SlotShares): SlotShares {
    const { id } = this.#options;
    const { running, waiting } = this.#use;
    const { holds } = shareOf(shares, id);
    const kept = this.#isEntered ? Math.min(holds, Math.max(running, this.#kept(shares))) : 0;
    this.#leaves = this.#isClosed || this.#isIdle ? 0 : kept;
    // Calls that an earlier lease left running need a slot too.
    const wants = this.#isClosed ? 0 : Math.min(this.#most, Math.max(0, waiting + running - kept));
    return sharedOut(shares, id, { holds: this.#leaves, wants }, this.#most);
  }

  async #gone({ gateways }: SlotShares): Promise<ReadonlySet<string>> {
    const gone = new Set<string>();
    for (const id of Object.keys(gateways))
      if (id !== this.#options.id && (await this.#options.isGone(id))) gone.add(id);
    return gone;
  }
}

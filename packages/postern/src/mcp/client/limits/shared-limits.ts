/**
 * What the gateways of one store share of the limits of their servers.
 *
 * Invariant: a gateway uses its slots only while it owns its lease, so another one may take them once the store would give
 * it that lease. The store is asked when a share changes, not for each call.
 */
import type { Clock } from "@postern/core";
import { Lease } from "../../../store/lease.ts";
import { LiveCollection } from "../../../store/live-collection.ts";
import type { Store } from "../../../store/store.ts";
import type { Starts } from "./own-starts.ts";
import { SharedSlots } from "./shared-slots.ts";
import { SharedStarts, type StartBlocks } from "./shared-starts.ts";
import type { CallSlots, SlotShares } from "./slot-shares.ts";

export interface SharedLimitsOptions {
  readonly store: Pick<Store, "commit" | "documents" | "follow" | "leases" | "incarnation" | "clock">;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

/** Shorter than a call waits for its turn: the slots of a gateway that was killed reach those that wait. */
const leaseMs = 6_000;

export class SharedLimits implements AsyncDisposable {
  readonly #options: SharedLimitsOptions;
  readonly #slotShares: LiveCollection<SlotShares>;
  readonly #startBlocks: LiveCollection<StartBlocks>;
  readonly #slots = new Map<string, SharedSlots>();
  readonly #starts = new Map<string, SharedStarts>();
  readonly #lease: Lease;
  #opening: Promise<unknown> | undefined;

  constructor(options: SharedLimitsOptions) {
    const { store, clock, log } = options;
    this.#options = options;
    this.#slotShares = new LiveCollection<SlotShares>({
      ...{ store, kind: "server_slots", read: (body) => body as unknown as SlotShares }, // only this class writes it
      updated: (_, server) => this.#slots.get(server)?.sharesChanged(),
    });
    this.#startBlocks = new LiveCollection<StartBlocks>({
      ...{ store, kind: "server_starts", read: (body) => body as unknown as StartBlocks }, // only this class writes it
    });
    const begin = (): void => {
      for (const slots of this.#slots.values()) slots.leaseBegins();
    };
    this.#lease = new Lease({ store, clock, log, name: leaseOf(store.incarnation), forMs: leaseMs, begin });
  }

  /** @param more runs when more calls may run here */
  slots(server: string, most: number, more: () => void): CallSlots {
    const { store, clock, log } = this.#options;
    this.#opening ??= this.#lease.open();
    const slots = new SharedSlots(server, most, {
      ...{ id: store.incarnation, shares: this.#slotShares, lease: this.#lease, clock, log, more },
      isGone: async (id) => (await store.leases?.take(leaseOf(id), leaseMs)) ?? false,
      forget: async (id) => store.leases?.release(leaseOf(id)),
    });
    this.#slots.set(server, slots);
    return slots;
  }

  starts(server: string, perMinute: number): Starts {
    const { store, clock } = this.#options;
    const options = { id: store.incarnation, blocks: this.#startBlocks, clock, time: store.clock ?? clock };
    const starts = new SharedStarts(server, perMinute, options);
    this.#starts.set(server, starts);
    return starts;
  }

  /** Other gateways get the shares at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opening;
    await Promise.all([...this.#slots.values(), ...this.#starts.values()].map((share) => share.close()));
    await this.#lease[Symbol.asyncDispose]();
  }
}

/** The lease of a gateway's share of all limits. */
function leaseOf(gateway: string): string {
  return `server limits ${gateway}`;
}

import type { CallRecord, StoreWrite } from "../../packages/core/src/records.ts";
import type { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { RuntimeFault } from "../../packages/postern/src/index.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { CallName, Committed, Durability } from "../../packages/postern/src/store/store.ts";
import { PointStore } from "../crash/points.ts";

/** How many of the next writes of a kind fail; `read` is the lookup of a call. */
export type Failing = Map<StoreWrite["write"] | "read", number>;

/** A store whose chosen writes fail, as on a full disk. */
export class FaultyStore extends PointStore {
  readonly #failing: Failing;

  constructor(clock: FakeClock, failing: Failing) {
    super(new MemoryStore({ clock, serialize: serializeWith((text) => text) }), () => {});
    this.#failing = failing;
  }

  override async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
    return this.#fault(write.write) ?? super.commit(write, durability);
  }

  override async call(by: CallName): Promise<CallRecord | undefined> {
    return this.#fault("read") ?? super.call(by);
  }

  #fault(kind: StoreWrite["write"] | "read"): Promise<never> | undefined {
    const left = this.#failing.get(kind) ?? 0;
    if (left <= 0) return undefined;
    this.#failing.set(kind, left - 1);
    return Promise.reject(new RuntimeFault("store_unwritable", "the disk is full"));
  }
}

import type { Clock } from "../../packages/core/src/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { Store, StoreEntry } from "../../packages/postern/src/store/store.ts";

/** A store for tests that use only the log. */
export function aLogStore(clock: Clock): Store {
  return new MemoryStore({ clock, serialize: serializeWith((text) => text) });
}

/** Commits this many events without content. */
export async function noteSome(store: Store, count: number): Promise<void> {
  const event = {
    moment: "noted",
    at: 0,
    type: "test.note",
    summary: "",
    traceId: "t",
    policyVersion: "p1",
    outcome: "info",
  } as const;
  const writes = Array.from({ length: count }, (_, i) =>
    store.commit({ write: "note", event: { ...event, summary: `note ${i}` } }, "committed"),
  );
  await Promise.all(writes);
}

/** Returns the store with some functions replaced. */
export function bent(store: Store, bend: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(name in bend ? bend : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Returns a store's events, each changed; the change returns undefined to remove one. */
export function changedEvents(store: Store, change: (entry: StoreEntry) => StoreEntry | undefined): Store["events"] {
  return async function* (where) {
    for await (const entry of store.events(where)) {
      const changed = change(entry);
      if (changed !== undefined) yield changed;
    }
  };
}

/** Random histories of writes, for tests that compare a store with the one in memory. */
import fc from "fast-check";
import { expect } from "vitest";
import type { StoreWrite } from "../../packages/core/src/index.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { Committed, Durability, Store } from "../../packages/postern/src/store/store.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  holdOf,
  note,
  outcomeOf,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../packages/postern/src/testing/records.ts";

const keys = ["k0", "k1", undefined] as const;
const matches = ["m0", "m1", undefined] as const;
const approvalIds = ["a0", "a1", "a2"] as const;

const key = fc.constantFrom(...keys);
const approvalId = fc.constantFrom(...approvalIds);
const lifetimeMs = fc.option(fc.constantFrom(0, 10, 20, 1000), { nil: undefined });
const durability = fc.constantFrom<Durability>("buffered", "queued", "committed", "synced");

/** What to do, without what only a store knows: ids, times and its incarnation. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("hold" as const),
      durability,
      key,
      match: fc.constantFrom(...matches),
      lifetimeMs,
      approvalId,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("decide" as const),
      durability,
      approvalId,
      as: fc.constantFrom("approved", "denied", "skipped", "expired", "withdrawn", "used"),
      ends: fc.boolean(),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      durability,
      key,
      match: fc.constantFrom(...matches),
      lifetimeMs,
      idempotent: fc.boolean(),
      use: fc.option(approvalId, { nil: undefined }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      durability,
      nth: fc.nat(20),
      state: fc.constantFrom("ok", "failed", "unknown", "suspended"),
      retryable: fc.boolean(),
      by: fc.constantFrom(undefined, undefined, "operator"),
      stranger: fc.constantFrom(false, false, false, true),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("document" as const),
      durability,
      id: fc.constantFrom("d0", "d1"),
      expectedVersion: fc.nat(3),
      body: fc.jsonValue(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("note" as const), durability }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(1, 10, 500) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A key that is held again with other arguments: a re-send finds it by the new ones only. */
const sameKeyOtherMatch: readonly Step[] = (["m1", "m0"] as const).map((match, nth) => ({
  ...{ do: "hold", durability: "buffered", key: "k0", match, approvalId: "a0" },
  lifetimeMs: nth === 0 ? 0 : undefined,
}));

/** A denied call that answers no equal call, because it states no lifetime: also before it is written to the file. */
const deniedWithoutLifetime: readonly Step[] = [
  { ...{ do: "hold", durability: "buffered", key: "k0", match: "m0", approvalId: "a0" }, lifetimeMs: undefined },
  { ...{ do: "decide", durability: "buffered", approvalId: "a0", as: "approved" }, ends: true },
];

function writeOf(step: Exclude<Step, { do: "advance" | "wait" }>, store: Store, clock: FakeClock): StoreWrite {
  switch (step.do) {
    case "hold": {
      const call = callOf(clock);
      const aliveUntil = step.lifetimeMs === undefined ? undefined : clock.now() + step.lifetimeMs;
      const record = recordOf(call, {
        key: step.key ?? call.id,
        match: step.match,
        state: "held",
        approvalId: step.approvalId,
        aliveUntil,
      });
      return holdOf(record, approvalOf(record));
    }
    case "decide": {
      const approval = approvalOf(recordOf(callOf(clock), { approvalId: step.approvalId }));
      return decideOf(approval, step.as, step.ends ? outcomeOf(callOf(clock), "denied") : undefined);
    }
    case "claim": {
      const call = callOf(clock);
      const aliveUntil = step.lifetimeMs === undefined ? undefined : clock.now() + step.lifetimeMs;
      const record = recordOf(call, {
        key: step.key ?? call.id,
        match: step.match,
        aliveUntil,
        idempotent: step.idempotent,
      });
      return claimOf(record, {
        fresh: step.key === undefined,
        ...(step.use !== undefined && { use: step.use }),
      });
    }
    case "settle": {
      const call = callOf(clock);
      const settledKey = [keys[0], keys[1], ...(known.get(store) ?? [])][step.nth] ?? call.id;
      const record = recordOf(call, {
        key: settledKey,
        fence: step.stranger ? "stranger" : store.incarnation,
      });
      return settleOf(record, step.state, { retryable: step.retryable, endedAt: clock.now() }, step.by);
    }
    case "document":
      return {
        write: "document",
        kind: "kind",
        id: step.id,
        body: JSON.parse(JSON.stringify(step.body)),
        expectedVersion: step.expectedVersion,
      };
    case "note":
      return note("noted");
  }
}

/** Keys that were calls' own ids, in the order they were claimed or held: the same place in both stores. */
const known = new WeakMap<Store, string[]>();

async function play(steps: readonly Step[], store: Store, clock: FakeClock): Promise<unknown[]> {
  const answers: (Committed | Promise<Committed>)[] = [];
  const seen: unknown[] = [];
  const keysHere: string[] = [];
  known.set(store, keysHere);
  for (const step of steps) {
    if (step.do === "advance") await clock.advance(step.ms);
    else if (step.do === "wait") await Promise.all(answers);
    else {
      const write = writeOf(step, store, clock);
      if ((write.write === "hold" || write.write === "claim") && write.record.key === write.record.call.id)
        keysHere.push(write.record.key);
      answers.push(store.commit(write, step.durability));
      seen.push(await Promise.all(matches.map((match) => match && store.call({ match }))));
    }
  }
  return [await Promise.all(answers), seen];
}

async function everything(store: Store): Promise<unknown[]> {
  const documents = ["d0", "d1"].map((id) => store.documents.get("kind", id));
  const live = matches.map((match) => match && store.call({ match }));
  return [
    await store.calls({}),
    await store.approvals({}),
    await Promise.all(documents),
    await Promise.all(live),
    await all(store.events({ after: -1 })),
  ];
}

/** Incarnations and the random middle of ids differ between two stores; nothing else may. */
function alike(value: unknown, store: Store): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(store.incarnation, "own"));
}

/** Plays random histories in memory and in the other store, which is closed and opened again after each. */
export async function compareWithMemory(
  /** Returns how to open one new, empty store, again and again. */
  newStore: () => (clock: FakeClock) => Store | Promise<Store>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), (steps) => compare(steps, newStore())),
    { numRuns, examples: [[sameKeyOtherMatch], [deniedWithoutLifetime]] },
  );
}

async function compare(steps: readonly Step[], open: (clock: FakeClock) => Store | Promise<Store>): Promise<void> {
  const [mapClock, otherClock] = [new FakeClock(), new FakeClock()];
  const map = new MemoryStore({ clock: mapClock, serialize: serializePlainly });
  let other = await open(otherClock);
  try {
    expect(alike(await play(steps, other, otherClock), other)).toEqual(alike(await play(steps, map, mapClock), map));
    const expected = alike(await everything(map), map);
    const { incarnation } = other;
    expect(alike(await everything(other), other)).toEqual(expected);
    await other[Symbol.asyncDispose]();
    other = await open(otherClock);
    const again = JSON.parse(JSON.stringify(await everything(other)).replaceAll(incarnation, "own"));
    expect(again).toEqual(expected);
  } finally {
    await other[Symbol.asyncDispose]();
  }
}

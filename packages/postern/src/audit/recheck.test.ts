import { beforeEach, describe, expect, it } from "vitest";
import { aLogStore, bent, changedEvents, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock, settled } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import { paceOf } from "./audit-config.ts";
import { openAuditLog } from "./audit-log.ts";
import type { Broken } from "./log.ts";
import { Recheck } from "./recheck.ts";
import { createSigner } from "./signer.ts";

const signer = createSigner();
let clock = new FakeClock();
let store = aLogStore(clock);
let found: Broken[] = [];
let problems: string[] = [];
let edited: number | undefined;
/** How many entries each look at the store gave, and at which time. */
let slices: { at: number; entries: number }[] = [];
beforeEach(() => {
  clock = new FakeClock();
  store = aLogStore(clock);
  [found, problems, edited, slices] = [[], [], undefined, []];
});

/** The store as it is read: one entry is another while `edited` says so. */
function watched(): Store {
  const read = changedEvents(store, (entry) => (entry.seq === edited ? { ...entry, body: "{}" } : entry));
  return bent(store, {
    events: async function* (where) {
      const slice = { at: clock.monotonic(), entries: 0 };
      slices.push(slice);
      for await (const entry of read(where)) {
        slice.entries += 1;
        yield entry;
      }
    },
  });
}

const open = (over: Store, entriesPerSecond = 500) =>
  openAuditLog({
    ...{ store: over, clock, signer, log: (problem) => problems.push(problem) },
    recheck: { entriesPerSecond, altered: (broken) => found.push(broken) },
  });

/** A store whose entries cannot be read while there is a failure. */
function failing(over: Store, failure: () => Error | undefined, more: Partial<Store> = {}): Store {
  const bend: Partial<Store> = {
    events: (where) => {
      const error = failure();
      if (error !== undefined) throw error;
      return over.events(where);
    },
  };
  return bent(over, Object.defineProperties(bend, Object.getOwnPropertyDescriptors(more)));
}

/** One that cannot be read because it has stopped. */
function stopping(over: Store, broken: () => Error | undefined): Store {
  return failing(over, broken, {
    get broken() {
      return broken();
    },
  });
}

/** A minute of rest, and the time a check of so many entries takes. */
async function checked(entries: number): Promise<void> {
  await clock.advance(60_000 + entries * 10);
  await settled(50);
}

describe("a log that is checked in the background", () => {
  it("is found altered without a request, with the first entry that cannot be trusted", async () => {
    await noteSome(store, 20);
    await using log = await open(watched());
    await log.checkpoint();
    await noteSome(store, 20);
    await log.checkpoint();
    await checked(40);
    expect(found).toEqual([]);
    expect(log.checked).toMatchObject({ found: { intact: true, events: 40 } });
    edited = 25;
    await checked(40);
    expect(found).toMatchObject([{ intact: false, firstBroken: 20, why: expect.stringContaining("20 to 39") }]);
    expect(log.checked?.found).toBe(found[0]);
  });

  it("is found altered even if its checkpoints were removed too", async () => {
    await noteSome(store, 20);
    const documents = { get: async () => undefined, list: async () => [] };
    await using _log = await open(bent(watched(), { documents }));
    edited = 3;
    await checked(20);
    expect(found).toMatchObject([{ intact: false, firstBroken: 0 }]);
  });

  it("is read a slice at a time, at the configured speed", async () => {
    await noteSome(store, 900); // a busy log is hashed on a thread, whose time this clock does not rule
    await using _log = await open(watched(), 250);
    slices = [];
    await clock.advance(60_000);
    expect(slices).toEqual([{ at: 60_000, entries: 50 }]);
    await clock.advance(999);
    expect(slices.map(({ entries }) => entries)).toEqual([50, 50, 50, 50, 50]);
    await clock.advance(4_000);
    await settled(50);
    expect(slices.reduce((sum, { entries }) => sum + entries, 0)).toBe(900);
    expect(slices.length).toBeLessThan(21);
  });

  it("ends a slice after two milliseconds", async () => {
    await noteSome(store, 100);
    const slow = Object.assign(Object.create(clock), {
      monotonic: () => {
        ticks += 1;
        return ticks;
      },
      now: () => clock.now(),
      in: (ms: number, then: () => void) => clock.in(ms, then),
    });
    let ticks = 0;
    await using _log = await openAuditLog({
      ...{ store: watched(), clock: slow, signer },
      recheck: { entriesPerSecond: 500, altered: (broken) => found.push(broken) },
    });
    slices = [];
    await clock.advance(60_000);
    expect(slices).toEqual([{ at: 60_000, entries: 3 }]);
  });

  it("continues while entries are added", async () => {
    await noteSome(store, 300);
    await using log = await open(watched());
    await clock.advance(60_100);
    for (let i = 0; i < 10; i += 1) {
      await noteSome(store, 30);
      await log.checkpoint();
      await clock.advance(200);
    }
    await checked(600);
    await checked(600);
    expect([found, problems]).toEqual([[], []]);
    expect(log.checked?.found).toMatchObject({ intact: true, events: 600 });
  });

  it("is never intact if it cannot be read, and raises an alarm after the third try", async () => {
    await noteSome(store, 10);
    let failure: Error | undefined;
    await using log = await open(failing(watched(), () => failure));
    await checked(10);
    for (const tries of [1, 2, 3, 4, 0, 1, 2]) {
      failure = tries === 0 ? undefined : new Error("disk I/O error");
      const before = log.checked;
      while (log.checked === before) await clock.advance(100);
      const unread = { intact: false, unreadable: "failing", why: "disk I/O error" };
      expect(log.checked?.found).toMatchObject(tries === 0 ? { intact: true } : unread);
    }
    expect(found.map(({ unreadable }) => unreadable)).toEqual(["failing", "failing"]);
    expect(new Set(problems)).toEqual(new Set(["The audit log could not be checked: disk I/O error"]));
  });

  it.each([
    ["SQLite calls damaged", Object.assign(new Error("database disk image is malformed"), { errcode: 267 })],
    ["is no text of ours", new Error("it says nothing", { cause: new SyntaxError("Unexpected end of JSON input") })],
  ])("is raised at once where what was kept %s", async (_, damage) => {
    await noteSome(store, 10);
    let failure: Error | undefined;
    await using log = await open(failing(watched(), () => failure));
    failure = damage;
    await checked(10);
    expect(found).toMatchObject([{ intact: false, unreadable: "damaged", why: damage.message }]);
    expect(log.checked?.found).toBe(found[0]);
  });

  it("is reported and tried again if its root cannot be read", async () => {
    let isThere = false;
    const verify = async () => {
      if (!isThere) throw new Error("ask again");
      return { intact: true, events: 0, head: "", checkpoints: 0 } as const;
    };
    const told: unknown[] = [];
    await using _recheck = new Recheck({
      ...{ store, clock, verify, entriesPerSecond: 500 },
      checked: (what) => told.push(what),
      altered: (broken) => found.push(broken),
      log: (problem) => problems.push(problem),
    });
    await checked(0);
    expect([problems, told]).toEqual([["The audit log could not be checked: ask again"], []]);
    isThere = true;
    await checked(0);
    expect(told).toMatchObject([{ intact: true }]);
  });

  it("sets no timer if it fails after the end", async () => {
    const begun = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<never>();
    const recheck = new Recheck({
      ...{ store, clock, entriesPerSecond: 500 },
      verify: () => {
        begun.resolve();
        return asked.promise;
      },
      checked: () => {},
      altered: (broken) => found.push(broken),
      log: (problem) => problems.push(problem),
    });
    await clock.advance(60_000);
    await begun.promise;
    const ended = recheck[Symbol.asyncDispose]();
    asked.reject(new Error("too late"));
    await ended;
    expect([problems, clock.waiting]).toEqual([["The audit log could not be checked: too late"], 0]);
  });

  it("is silent about a store that has stopped", async () => {
    await noteSome(store, 10);
    let broken: Error | undefined;
    await using log = await open(stopping(watched(), () => broken));
    broken = new Error("stopped");
    await checked(10);
    expect([problems, log.checked]).toEqual([[], undefined]);
    broken = undefined;
  });

  it.each([
    ["an entry comes", undefined],
    ["the store fails", new Error("disk I/O error")],
  ])("is left off in the middle of a slice, when %s after the log was closed", async (_, failure) => {
    await noteSome(store, 10);
    let isHeld = false;
    const gate = Promise.withResolvers<void>();
    const log = await open(
      bent(store, {
        events: async function* (where) {
          for await (const entry of store.events(where)) {
            if (isHeld) await gate.promise;
            yield entry;
          }
        },
      }),
    );
    await log.checkpoint();
    isHeld = true;
    await clock.advance(60_000);
    const closed = log[Symbol.asyncDispose]();
    if (failure === undefined) gate.resolve();
    else gate.reject(failure);
    await closed;
    expect([found, log.checked, clock.waiting]).toEqual([[], undefined, 0]);
  });

  it("stops when the log closes", async () => {
    await noteSome(store, 300);
    const log = await open(watched());
    await clock.advance(60_100);
    await log[Symbol.asyncDispose]();
    slices = [];
    await clock.advance(600_000);
    expect([slices, found, problems, clock.waiting]).toEqual([[], [], [], 0]);
    expect(log.checked).toBeUndefined();
  });
});

describe("the speed of the check", () => {
  it("is 500 entries a second for a file store, and zero for other stores", () => {
    expect(paceOf({}, true)).toEqual({ entriesPerSecond: 500 });
    expect(paceOf({}, false)).toBeUndefined();
    expect(paceOf({ enabled: true, entriesPerSecond: 50 }, false)).toEqual({ entriesPerSecond: 50 });
    expect(paceOf({ enabled: false }, true)).toBeUndefined();
  });
});

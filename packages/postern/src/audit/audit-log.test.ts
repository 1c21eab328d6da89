import { beforeEach, describe, expect, it } from "vitest";
import { aLogStore, bent, changedEvents, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock, settled } from "../../../core/src/testing/clock.ts";
import type { Store, StoreEntry } from "../store/store.ts";
import { openAuditLog } from "./audit-log.ts";
import { createSigner } from "./signer.ts";
import { Tree } from "./tree.ts";
import { verifyExport, verifyStore } from "./verify.ts";

const signer = createSigner();
let clock = new FakeClock();
let store: Store = aLogStore(clock);
let problems: string[] = [];

beforeEach(() => {
  clock = new FakeClock();
  store = aLogStore(clock);
  problems = [];
});

const open = (over: Store = store) =>
  openAuditLog({ store: over, clock, signer, log: (problem) => problems.push(problem) });
const signedSizes = async (): Promise<readonly number[]> => (await store.documents.list("checkpoint", "")).map(Number);
describe("a log that follows its store", () => {
  it("has every committed entry in its tree, and verifies", async () => {
    await noteSome(store, 3);
    await using log = await open();
    expect(log.size).toBe(3);
    await noteSome(store, 4);
    const tree = new Tree();
    for await (const { body } of store.events({ after: -1 })) tree.append(body);
    expect([log.size, await log.head()]).toEqual([7, tree.root()]);
    expect(await log.verify()).toEqual({
      intact: true,
      events: 7,
      head: tree.root(),
      checkpoints: 1,
      integrity: "intact",
      signer: "own",
      outcome: "ok",
    });
  });

  it("signs a second after a new entry, and nothing without one", async () => {
    await using _log = await open();
    await clock.advance(5000);
    expect(await signedSizes()).toEqual([]);
    await noteSome(store, 2);
    await clock.advance(999);
    expect(await signedSizes()).toEqual([]);
    await clock.advance(1);
    expect(await signedSizes()).toEqual([2]);
    await clock.advance(60_000);
    expect(await signedSizes()).toEqual([2]);
    expect(clock.waiting).toBe(0);
    await noteSome(store, 1);
    await clock.advance(1000);
    expect(await signedSizes()).toEqual([2, 3]);
  });

  it("signs at once when a thousand entries came", async () => {
    await using _log = await open();
    await noteSome(store, 999);
    await settled();
    expect(await signedSizes()).toEqual([]);
    await noteSome(store, 1);
    await settled();
    expect(await signedSizes()).toEqual([1000]);
    expect(clock.waiting).toBe(0);
  });

  it("signs the rest when it closes, and leaves no timer", async () => {
    const log = await open();
    await noteSome(store, 5);
    await log[Symbol.asyncDispose]();
    expect(await signedSizes()).toEqual([5]);
    expect(clock.waiting).toBe(0);
    await noteSome(store, 5);
    expect(log.size).toBe(5);
  });

  it("continues from its last checkpoint after a restart", async () => {
    await noteSome(store, 10);
    await (await open())[Symbol.asyncDispose]();
    await noteSome(store, 3); // committed, never signed: as if the process had died
    const asked: number[] = [];
    const watched = bent(store, {
      events: (where) => {
        asked.push(where.after);
        return store.events(where);
      },
    });
    await using log = await open(watched);
    expect(log.size).toBe(13);
    expect(Math.min(...asked)).toBe(8); // the last signed one, and what follows it
    expect(await log.verify()).toMatchObject({ intact: true, events: 13, checkpoints: 2 });
    expect(problems).toEqual([]);
  });

  it("misses no entry that is committed while it opens, and reads entries that were not announced", async () => {
    await noteSome(store, 4);
    let told: ((entries: readonly StoreEntry[]) => void) | undefined;
    const silent = bent(store, {
      follow: (listener) => {
        told = listener;
        return { [Symbol.dispose]: () => undefined };
      },
    });
    await using log = await open(silent);
    await noteSome(store, 3);
    expect(log.size).toBe(4);
    const [last] = await entriesAfter(5);
    told?.(last === undefined ? [] : [last]);
    await settled();
    expect(log.size).toBe(7);
    expect(await log.verify()).toMatchObject({ intact: true });
  });

  it("reports entries that it cannot read, and reads them later", async () => {
    let told: ((entries: readonly StoreEntry[]) => void) | undefined;
    let unreadable = false;
    const silent = bent(store, {
      follow: (listener) => {
        told = listener;
        return { [Symbol.dispose]: () => undefined };
      },
      events: (where) => {
        if (unreadable) throw new Error("no disk");
        return store.events(where);
      },
    });
    await using log = await open(silent);
    await noteSome(store, 2);
    const [, last] = await entriesAfter(-1);
    unreadable = true;
    told?.(last === undefined ? [] : [last]);
    await settled();
    expect([log.size, problems]).toEqual([0, [expect.stringContaining("no disk")]]);
    unreadable = false;
    told?.([]);
    await settled();
    expect(log.size).toBe(2);
  });

  it("reads entries again that were announced while it read", async () => {
    await noteSome(store, 4);
    let tell: (() => Promise<void>) | undefined;
    const late = bent(store, {
      follow: (listener) => {
        tell = async () => {
          tell = undefined;
          await noteSome(store, 2);
          listener(await entriesAfter(4));
        };
        return { [Symbol.dispose]: () => undefined };
      },
      events: async function* (where) {
        yield* await entriesAfter(where.after);
        await tell?.();
      },
    });
    await using log = await open(late);
    expect(log.size).toBe(6);
  });

  it("says that an entry is missing, and signs nothing beyond it", async () => {
    await noteSome(store, 5);
    const holed = bent(store, {
      events: changedEvents(store, (entry) => (entry.seq === 3 ? undefined : entry)),
    });
    await using log = await open(holed);
    expect(log.size).toBe(3);
    await noteSome(store, 1);
    await settled();
    expect(problems).toEqual(["The audit log has no entry 3; nothing after it can be signed."]);
    expect(log.size).toBe(3);
  });
});

async function entriesAfter(after: number): Promise<readonly StoreEntry[]> {
  const entries: StoreEntry[] = [];
  for await (const entry of store.events({ after })) entries.push(entry);
  return entries;
}

describe("a checkpoint", () => {
  it("that another process made first is no problem, unless it has another root", async () => {
    await noteSome(store, 3);
    await using one = await open();
    await using other = await open();
    expect(await one.checkpoint()).toBe(await other.checkpoint());
    expect(problems).toEqual([]);
    await noteSome(store, 1);
    const body = { edge: { roots: ["AAAA"], size: 4 }, note: "" };
    const [last = ""] = (await store.documents.list("checkpoint", "")).slice(-1);
    const id = "4".padStart(last.length, "0");
    await store.commit({ write: "document", kind: "checkpoint", id, body, expectedVersion: 0 }, "synced");
    await one.checkpoint();
    expect(problems).toEqual(["Another checkpoint over 4 entries with another root is there already."]);
  });

  it("is the same note without new entries, and proves later that nothing was cut off", async () => {
    await using log = await open();
    await noteSome(store, 8);
    const kept = await log.checkpoint();
    expect(await log.checkpoint()).toBe(kept);
    await noteSome(store, 8);
    expect(await log.verify(kept)).toMatchObject({ intact: true, events: 16 });
    const cut = bent(store, { events: ({ after }) => store.events({ after, limit: 5 - after }) });
    expect(
      await verifyStore(
        { events: cut.events, documents: { get: async () => undefined, list: async () => [] } },
        signer.publicKey,
        { against: kept },
      ),
    ).toMatchObject({ intact: false, firstBroken: 6 });
  });

  it("is given for an empty log and not stored", async () => {
    await using log = await open();
    expect((await log.checkpoint()).split("\n")[1]).toBe("0");
    expect(await signedSizes()).toEqual([]);
    expect(await log.verify()).toMatchObject({ intact: true, events: 0 });
  });

  it("is reported if it cannot be written, and tried again after a second", async () => {
    let full = true;
    const small = bent(store, {
      commit: (write, durability) =>
        full && write.write === "document" ? Promise.reject(new Error("disk full")) : store.commit(write, durability),
    });
    await using log = await open(small);
    await noteSome(store, 2);
    await clock.advance(1000);
    expect(problems).toEqual(["A checkpoint of the audit log could not be written: disk full"]);
    await expect(log.checkpoint()).rejects.toThrow("disk full");
    expect(await log.verify()).toMatchObject({ intact: true, events: 2, checkpoints: 0 });
    full = false;
    await clock.advance(1000);
    expect(await signedSizes()).toEqual([2]);
  });
});

describe("a store that is broken for good", () => {
  it("gets no further checkpoint, also without a logger", async () => {
    const broken = new Error("disk gone");
    const dead = bent(store, { broken, commit: () => Promise.reject(broken) });
    const log = await openAuditLog({ store: dead, clock, signer });
    await noteSome(store, 1);
    await clock.advance(1000);
    expect(clock.waiting).toBe(0);
    await log[Symbol.asyncDispose]();
    expect(await signedSizes()).toEqual([]);
  });
});

describe("an export", () => {
  it("is verified from the file alone, and ends where it was signed", async () => {
    await using log = await open();
    await noteSome(store, 3);
    await clock.advance(1000);
    await noteSome(store, 3);
    const lines: string[] = [];
    for await (const line of log.export()) {
      if (lines.length === 1) await noteSome(store, 2);
      lines.push(line);
    }
    expect(lines.filter((line) => line.startsWith("{"))).toHaveLength(6);
    expect(lines.filter((line) => line.startsWith("#"))).toHaveLength(4);
    expect(await verifyExport(lines, { publicKey: signer.publicKey })).toMatchObject({
      intact: true,
      events: 6,
      checkpoints: 2,
    });
  });
});

describe("a log that several processes sign", () => {
  const openShared = (key = signer) => openAuditLog({ store, clock, signer: key, isShared: true });
  const refusalOf = (key: typeof signer) => ({
    code: "config_invalid",
    message: expect.stringContaining(`this Postern's key is \`${key.origin}\``),
  });

  it("has the key of the first one, also before it has a checkpoint", async () => {
    const other = createSigner();
    await using _first = await openShared();
    await using _second = await openShared();
    await expect(openShared(other)).rejects.toMatchObject(refusalOf(other));
    await noteSome(store, 1);
    await clock.advance(1000);
    expect(await signedSizes()).toEqual([1]);
    await expect(openShared(other)).rejects.toMatchObject(refusalOf(other));
  });
});

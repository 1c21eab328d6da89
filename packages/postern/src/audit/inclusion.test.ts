import { beforeEach, describe, expect, it } from "vitest";
import { aLogStore, bent, changedEvents, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import { openAuditLog } from "./audit-log.ts";
import { Inclusion } from "./inclusion.ts";
import { openCheckpoint, readVerifierKey } from "./note.ts";
import { leafHash, verifyInclusion } from "./proofs.ts";
import { createSigner } from "./signer.ts";
import { Tree } from "./tree.ts";

const signer = createSigner();
let clock = new FakeClock();
let store: Store = aLogStore(clock);

beforeEach(() => {
  clock = new FakeClock();
  store = aLogStore(clock);
});

async function rootOver(size: number): Promise<string> {
  const tree = new Tree();
  for await (const { body } of store.events({ after: -1, limit: size })) tree.append(body);
  return tree.root();
}

describe("the place of an entry in the log", () => {
  it("is proved for every entry, in trees of every shape", async () => {
    await noteSome(store, 3100);
    const inclusion = new Inclusion(store);
    for (const size of [1, 2, 7, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 3100]) {
      const root = await rootOver(size);
      for (const index of new Set([0, Math.floor(size / 2), Math.min(size - 1, 1024), size - 1])) {
        const place = await inclusion.find(index, size);
        expect(place?.leaf).toBe(leafHash(place?.body ?? ""));
        const proof = { leaf: place?.leaf ?? "", index, size, root, path: place?.path ?? [] };
        expect(verifyInclusion(proof), `${index} in ${size}`).toBe(true);
        expect(verifyInclusion({ ...proof, leaf: leafHash("another") })).toBe(false);
      }
    }
  });

  it("comes with a note that the log's key signed over the same tree", async () => {
    await noteSome(store, 5);
    await using log = await openAuditLog({ store, clock, signer });
    await noteSome(store, 2);
    const proof = await log.prove(6);
    const key = readVerifierKey(proof?.publicKey ?? "");
    expect(key && openCheckpoint(proof?.checkpoint ?? "", key)).toEqual({ size: 7, root: await log.head() });
    expect(proof).toMatchObject({ seq: 6, size: 7, root: await log.head(), leaf: leafHash(proof?.body ?? "") });
  });

  it("is missing for a number without an entry", async () => {
    await noteSome(store, 2);
    await using log = await openAuditLog({ store, clock, signer });
    for (const seq of [2, -1, 0.5, Number.NaN, 2 ** 60]) expect(await log.prove(seq)).toBeUndefined();
  });

  it("does not lead to the signed root if the entry was changed", async () => {
    await noteSome(store, 9);
    let changed = false;
    const events = changedEvents(store, (entry) =>
      changed && entry.seq === 4 ? { ...entry, body: entry.body.replace("note 4", "note 5") } : entry,
    );
    await using log = await openAuditLog({ store: bent(store, { events }), clock, signer });
    changed = true;
    const proof = await log.prove(4);
    expect(proof && verifyInclusion({ ...proof, index: 4 })).toBe(false);
    const neighbour = await log.prove(3);
    expect(neighbour && verifyInclusion({ ...neighbour, index: 3 })).toBe(false);
  });

  it("is missing if entries were removed", async () => {
    await noteSome(store, 2000);
    let isCut = false;
    const events: Store["events"] = async function* (where) {
      for await (const entry of store.events(where)) if (!isCut || entry.seq < 900) yield entry;
    };
    await using log = await openAuditLog({ store: bent(store, { events }), clock, signer });
    isCut = true;
    expect(await log.prove(1)).toBeUndefined();
    expect(await log.prove(1990)).toBeUndefined();
    isCut = false;
    expect(await log.prove(1)).toBeDefined();
  });

  it("is found again after the store has failed", async () => {
    await noteSome(store, 2000);
    let fails = true;
    const events: Store["events"] = (where) => {
      if (fails) throw new Error("disk");
      return store.events(where);
    };
    const inclusion = new Inclusion({ events });
    await expect(inclusion.find(1, 2000)).rejects.toThrow("disk");
    fails = false;
    expect(await inclusion.find(1, 2000)).toBeDefined();
  });
});

import type { Json } from "@postern/core";
import { describe, expect, it } from "vitest";
import { erasedEntry } from "../store/erasing.ts";
import type { Store, StoreEntry } from "../store/store.ts";
import { signCheckpoint } from "./checkpoint.ts";
import { erasureProof } from "./erasure-proof.ts";
import { checkpointId, exportLines } from "./export.ts";
import { createSigner, type Signer } from "./signer.ts";
import { Tree } from "./tree.ts";
import { verifyExport, verifyStore } from "./verify.ts";

/** A log that can be tampered with: what a store answers, and nothing behind it. */
class OpenLog implements Pick<Store, "events" | "documents"> {
  entries: StoreEntry[];
  readonly notes: Map<string, Json>;

  constructor(entries: readonly StoreEntry[], notes: ReadonlyMap<string, Json>) {
    this.entries = [...entries];
    this.notes = new Map(notes);
  }

  async *events({ after }: { readonly after: number }): AsyncGenerator<StoreEntry> {
    for (const entry of this.entries) if (entry.seq > after) yield entry;
  }

  readonly documents: Store["documents"] = {
    get: async (_kind, id) => {
      const body = this.notes.get(id);
      return body === undefined ? undefined : { version: 1, body };
    },
    list: async () => [...this.notes.keys()].sort(),
  };

  copy(): OpenLog {
    return new OpenLog(this.entries, this.notes);
  }

  /** As somebody would who edits the table: numbers stay gapless. */
  renumber(): this {
    this.entries = this.entries.map(({ body }, seq) => ({ seq, body }));
    return this;
  }
}

const signer = createSigner();

function logOf(count: number, every: number, by: Signer = signer): OpenLog {
  const tree = new Tree();
  const log = new OpenLog([], new Map());
  for (let seq = 0; seq < count; seq += 1) {
    const body = `{"data":"Grüße\u2028€ ${seq % 7}","n":${seq}}`;
    log.entries.push({ seq, body });
    tree.append(body);
    if (tree.size % every !== 0) continue;
    const note = signCheckpoint(by, tree.size, tree.root());
    log.notes.set(checkpointId(tree.size), { edge: {}, note });
  }
  return log;
}

const noteAt = (log: OpenLog, size: number): string => {
  const tree = new Tree();
  for (const { body } of log.entries.slice(0, size)) tree.append(body);
  return signCheckpoint(signer, size, tree.root());
};
const check = (log: OpenLog, options?: Parameters<typeof verifyStore>[2]) =>
  verifyStore(log, signer.publicKey, options);

/** Another history of as many entries. */
const otherHistory = new OpenLog(logOf(51, 60).entries.slice(1), new Map()).renumber();

describe("the verifier of a store", () => {
  const whole = logOf(200, 25);

  it("finds nothing wrong with an unchanged log", async () => {
    const tree = new Tree();
    for (const { body } of whole.entries) tree.append(body);
    expect(await check(whole)).toEqual({
      intact: true,
      events: 200,
      head: tree.root(),
      checkpoints: 8,
    });
    expect(await check(logOf(0, 1))).toMatchObject({ intact: true, events: 0, checkpoints: 0 });
  });

  it("counts the entries that are not signed yet", async () => {
    expect(await check(logOf(60, 25))).toMatchObject({
      intact: true,
      events: 60,
      checkpoints: 2,
      unsigned: 10,
    });
    expect(await check(logOf(60, 25), { anchors: [noteAt(whole, 60)] })).not.toHaveProperty("unsigned");
  });

  it("reads a growing log up to the requested or the signed size", async () => {
    const unsigned = new OpenLog(whole.entries, new Map());
    expect(await check(unsigned, { upTo: 60 })).toMatchObject({ intact: true, events: 60 });
    expect(await check(unsigned, { upTo: 60, against: noteAt(whole, 90) })).toMatchObject({
      intact: true,
      events: 90,
    });
    const signed = new OpenLog(whole.entries, new Map([...whole.notes].slice(0, 3)));
    expect(await check(signed, { upTo: 60 })).toMatchObject({ intact: true, events: 75 });
  });

  it("finds every changed, deleted, swapped, inserted and cut off entry", async () => {
    /** What stands at a place and after it, instead; `first` is the first entry that is then another. */
    const tampers: readonly (readonly [string, number, (entries: readonly StoreEntry[]) => readonly StoreEntry[]])[] = [
      ["changed", 0, ([one, ...rest]) => [{ seq: 0, body: `${one?.body} ` }, ...rest]],
      ["deleted", 0, ([, ...rest]) => rest],
      ["swapped", 0, (rest) => [...rest.slice(0, 2).reverse(), ...rest.slice(2)]],
      ["inserted", 0, (rest) => [{ seq: 0, body: "{}" }, ...rest]],
      ["doubled", 1, (rest) => [...rest.slice(0, 1), ...rest]],
      ["cut off", 0, () => []],
    ];
    for (const [kind, first, tamper] of tampers) {
      for (let at = 0; at < 199; at += 1) {
        const log = whole.copy();
        log.entries = [...log.entries.slice(0, at), ...tamper(log.entries.slice(at))];
        const found = await check(log.renumber());
        expect(found, `${kind} at ${at}`).toMatchObject({ intact: false });
        const lastSigned = Math.floor((at + first) / 25) * 25;
        const broken = found.intact ? -1 : found.firstBroken;
        expect([lastSigned, log.entries.length], `${kind} at ${at}`).toContain(broken);
      }
    }
  });

  it("finds every gap in the numbers", async () => {
    for (let at = 0; at < 200; at += 1) {
      const log = whole.copy();
      log.entries.splice(at, 1);
      expect(await check(log)).toMatchObject({ intact: false, firstBroken: at });
    }
  });

  it("names the first entry that cannot be trusted", async () => {
    const log = whole.copy();
    log.entries[130] = { seq: 130, body: "{}" };
    expect(await check(log)).toEqual({
      intact: false,
      events: 150,
      firstBroken: 125,
      why: "Something in entries 125 to 149 is not what the checkpoint over 150 entries signed.",
    });
    log.entries.splice(60, 1);
    expect(await check(log)).toMatchObject({
      firstBroken: 60,
      why: "Entry 61 stands where entry 60 belongs.",
    });
  });

  it("finds entries and checkpoints that were cut off, by a note from elsewhere", async () => {
    const cut = new OpenLog(whole.entries.slice(0, 110), new Map([...whole.notes].slice(0, 4)));
    expect(await check(cut)).toMatchObject({ intact: true });
    for (const options of [{ against: noteAt(whole, 175) }, { anchors: [noteAt(whole, 175)] }]) {
      expect(await check(cut, options)).toMatchObject({
        intact: false,
        firstBroken: 110,
        why: expect.stringContaining("cut off"),
      });
    }
  });

  it("finds a log that was rewritten and signed again, by a note from elsewhere", async () => {
    const forked = logOf(200, 40);
    const log = new OpenLog(forked.entries.with(90, { seq: 90, body: "{}" }), new Map());
    expect(await check(log, { against: noteAt(whole, 90) })).toMatchObject({ intact: true });
    expect(await check(log, { against: noteAt(whole, 91) })).toMatchObject({
      intact: false,
      why: expect.stringContaining("kept elsewhere"),
    });
    const empty = signCheckpoint(signer, 0, "0".repeat(64));
    expect(await check(logOf(0, 1), { against: empty })).toMatchObject({ intact: false });
  });

  it("accepts no note and no checkpoint of another key", async () => {
    const foreign = createSigner();
    expect(await check(logOf(50, 25, foreign))).toMatchObject({
      intact: false,
      firstBroken: 0,
      why: "The checkpoint over 25 entries is not signed by this log's key.",
    });
    expect(await check(whole, { against: "no note" })).toMatchObject({
      intact: false,
      why: expect.stringContaining("`no note`"),
    });
    await expect(verifyStore(whole, "no key")).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining("is not a public key of an audit log"),
    });
  });

  it("finds checkpoints that were moved, emptied or renamed", async () => {
    const moved = whole.copy();
    moved.notes.set(checkpointId(30), whole.notes.get(checkpointId(25)) ?? null);
    expect(await check(moved)).toMatchObject({
      intact: false,
      why: "The checkpoint `0000000000000030` signs 25 entries.",
    });
    const emptied = whole.copy();
    emptied.notes.set(checkpointId(50), { note: 7 });
    expect(await check(emptied)).toMatchObject({ intact: false, firstBroken: 25 });
    const gone = whole.copy();
    gone.notes.set(checkpointId(50), null);
    expect(await check(gone)).toMatchObject({ intact: false, firstBroken: 25 });
    const renamed = whole.copy();
    renamed.notes.set("50", whole.notes.get(checkpointId(50)) ?? null);
    expect(await check(renamed)).toMatchObject({
      intact: false,
      why: "The checkpoint `50` is not in its place.",
    });
  });

  it("finds an entry that is no text", async () => {
    const log = whole.copy();
    log.entries[3] = { seq: 3, body: null as never }; // what a table could answer
    expect(await check(log)).toMatchObject({ intact: false, firstBroken: 3 });
  });
});

/** The log with these places erased and these proofs appended, and a checkpoint over all. */
function erasedLog(erased: readonly number[], ...proofs: readonly unknown[]): OpenLog {
  const log = logOf(50, 25);
  for (const seq of erased) log.entries[seq] = { seq, body: erasedEntry(log.entries[seq]?.body ?? "") };
  for (const data of proofs) {
    const body = JSON.stringify({ call: { data, refs: {}, type: "runtime.entries_erased" }, context: {} });
    log.entries.push({ seq: log.entries.length, body });
  }
  const tree = new Tree();
  for (const { body } of log.entries) tree.append(body);
  log.notes.set(checkpointId(tree.size), { edge: {}, note: signCheckpoint(signer, tree.size, tree.root()) });
  return log;
}

describe("a log with erased entries", () => {
  const checkpoint = noteAt(logOf(50, 25), 50);
  const prove = (...places: readonly number[]) => erasureProof(signer, checkpoint, places);
  const some = [3, 4, 5, 9];

  it.each([
    ["once", erasedLog(some, prove(...some))],
    ["twice, after a kill between note and erasure", erasedLog(some, prove(...some), prove(...some))],
    ["in part", erasedLog([4], prove(...some))],
    ["in two notes whose places cross", erasedLog([3, 4, 5, 7, 9, 11], prove(4, 9), prove(3, 4, 5, 7, 11))],
  ])("verifies if the log's key signed their places %s", async (_, log) => {
    expect(await check(log)).toMatchObject({ intact: true });
  });

  it.each([
    ["a place between the named ones", erasedLog([...some, 7], prove(...some)), 7],
    ["no proof", erasedLog(some, { first: 0, last: 49, count: 50 }), 3],
    ["other places than were signed", erasedLog(some, { ...prove(9), places: "3-9" }), 3],
    ["another key", erasedLog(some, erasureProof(createSigner(), checkpoint, some)), 3],
    ["a checkpoint of another log", erasedLog(some, erasureProof(signer, noteAt(otherHistory, 50), some)), 3],
    ["a size without a checkpoint", erasedLog(some, erasureProof(signer, noteAt(logOf(50, 25), 40), some)), 3],
  ])("is broken with %s", async (_, log, firstBroken) => {
    expect(await check(log)).toMatchObject({ intact: false, firstBroken });
  });

  it("is exported with the proof if entries are erased meanwhile", async () => {
    const log = logOf(50, 60);
    const later = erasedLog(some, prove(...some));
    const events = async function* () {
      for (const seq of later.entries.keys()) {
        if (seq === 5) for (const [id, note] of later.notes) log.notes.set(id, note);
        const entry = (seq < 5 ? log : later).entries[seq];
        if (entry !== undefined) yield entry;
      }
    };
    const notes = [checkpoint, noteAt(later, 51)];
    const lines: string[] = [];
    const sign = () => notes.shift() ?? "";
    for await (const line of exportLines({ documents: log.documents, events }, signer.publicKey, sign))
      lines.push(line);
    expect(await verifyExport(lines.join("\n").concat("\n"))).toMatchObject({ intact: true, events: 51, erased: 2 });
  });

  it("verifies if entries are erased while it is read", async () => {
    const log = logOf(50, 25);
    const later = erasedLog(some, prove(...some));
    const events = async function* ({ after }: { readonly after: number }) {
      for (const seq of later.entries.keys()) {
        if (seq === 5) for (const [id, note] of later.notes) log.notes.set(id, note);
        const entry = (seq < 5 ? log : later).entries[seq];
        if (entry !== undefined && seq > after) yield entry;
      }
    };
    const { documents } = log;
    expect(await verifyStore({ documents, events }, signer.publicKey)).toMatchObject({ intact: true, erased: 2 });
  });
});

describe("a log that cannot be read", () => {
  const damage = Object.assign(new Error("database disk image is malformed"), { errcode: 11 });

  it("gives a result that names the first unreadable entry", async () => {
    const log = logOf(20, 5);
    const events = async function* () {
      for await (const entry of log.events({ after: -1 })) {
        if (entry.seq === 7) throw damage;
        yield entry;
      }
    };
    expect(await verifyStore({ documents: log.documents, events }, signer.publicKey)).toMatchObject({
      ...{ intact: false, firstBroken: 7, events: 7, unreadable: "damaged" },
      why: "database disk image is malformed",
    });
  });

  it("gives a result if a checkpoint cannot be read", async () => {
    const log = logOf(20, 5);
    const get = async () => Promise.reject(new Error("disk I/O error"));
    const documents = { ...log.documents, get };
    const events = log.events.bind(log);
    expect(await verifyStore({ documents, events }, signer.publicKey)).toMatchObject({
      ...{ intact: false, unreadable: "failing", why: "disk I/O error" },
    });
  });
});

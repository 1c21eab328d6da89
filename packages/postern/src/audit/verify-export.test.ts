import { RuntimeFault } from "@postern/core";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Store, StoreEntry } from "../store/store.ts";
import { signCheckpoint } from "./checkpoint.ts";
import { checkpointId, exportLines } from "./export.ts";
import { readLines } from "./lines.ts";
import { createSigner } from "./signer.ts";
import { Tree } from "./tree.ts";
import { verifyExport } from "./verify.ts";

const signer = createSigner();

/** What an export reads of a store whose log has so many entries, signed now and then. */
function logOf(count: number, every: number): Pick<Store, "events" | "documents"> {
  const entries = Array.from({ length: count }, (_, seq) => ({
    seq,
    body: `{"data":"Grüße\u2028€","n":${seq}}`,
  }));
  const ids = entries.flatMap(({ seq }) => ((seq + 1) % every === 0 ? [checkpointId(seq + 1)] : []));
  return {
    events: async function* (): AsyncGenerator<StoreEntry> {
      yield* entries;
    },
    documents: {
      get: async (_, id) => ({ version: 1, body: { note: noteOf(entries.slice(0, Number(id))) } }),
      list: async () => ids,
    },
  };
}

function noteOf(entries: readonly StoreEntry[]): string {
  const tree = new Tree();
  for (const { body } of entries) tree.append(body);
  return signCheckpoint(signer, tree.size, tree.root());
}

async function noteAt(log: Pick<Store, "events">, size: number): Promise<string> {
  const entries: StoreEntry[] = [];
  for await (const entry of log.events({ after: -1 })) entries.push(entry);
  return noteOf(entries.slice(0, size));
}

async function all(lines: AsyncIterable<string>): Promise<readonly string[]> {
  const read: string[] = [];
  for await (const line of lines) read.push(line);
  return read;
}
describe("the verifier of an exported file", () => {
  const log = logOf(12, 5);
  let bytes: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    const lines = await all(exportLines(log, signer.publicKey, () => noteAt(log, 12)));
    bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  });
  const verifyBytes = (file: Uint8Array, options?: Parameters<typeof verifyExport>[1]) => verifyExport([file], options);
  const linesOf = (): string[] => bytes.toString().trimEnd().split("\n");

  it("needs no more than the file", async () => {
    expect(await verifyBytes(bytes)).toMatchObject({ intact: true, events: 12, checkpoints: 3 });
    expect(
      await verifyBytes(bytes, {
        publicKey: `${signer.publicKey}\n`,
        against: await noteAt(log, 7),
      }),
    ).toMatchObject({ intact: true });
    const none = logOf(0, 1);
    expect(await verifyExport(exportLines(none, signer.publicKey, () => noteAt(none, 0)))).toMatchObject({
      intact: true,
      events: 0,
    });
  });

  /** Lines 1 to 5 are entries 0 to 4, line 6 their checkpoint, lines 7 to 11 entries 5 to 9, 12 the next one, 13 and 14 the last two. */
  it.each<[string, (lines: string[]) => void, string]>([
    [
      "one entry",
      (lines) => lines.splice(3, 1),
      "1 of the entries 0 to 4 is missing: the checkpoint over 5 entries stands after 4.",
    ],
    [
      "some entries",
      (lines) => lines.splice(8, 2),
      "2 of the entries 5 to 9 are missing: the checkpoint over 10 entries stands after 8.",
    ],
    [
      "all of them",
      (lines) => lines.splice(7, 5),
      "Entries 5 to 9 are missing: the checkpoint over 10 entries stands after 5.",
    ],
    [
      "the last one",
      (lines) => lines.splice(14, 1),
      "1 of the entries 10 to 11 is missing: the checkpoint over 12 entries stands after 11.",
    ],
    [
      "nothing, but one came in",
      (lines) => lines.splice(3, 0, "{}"),
      "1 of the entries 0 to 5 is too many: the checkpoint over 5 entries stands after 6.",
    ],
    [
      "nothing, but two came in",
      (lines) => lines.splice(3, 0, "{}", "{}"),
      "2 of the entries 0 to 6 are too many: the checkpoint over 5 entries stands after 7.",
    ],
  ])("says where something is missing when %s was taken out", async (_, change, why) => {
    const lines = linesOf();
    change(lines);
    expect(await verifyExport(lines)).toMatchObject({ intact: false, why });
  });

  it("names a single missing entry, and a checkpoint in the wrong place", async () => {
    const often = logOf(3, 1);
    const lines = [...(await all(exportLines(often, signer.publicKey, () => noteAt(often, 3))))];
    lines.splice(3, 1);
    expect(await verifyExport(lines)).toMatchObject({
      firstBroken: 1,
      why: "Entry 1 is missing: the checkpoint over 2 entries stands after 1.",
    });
    const late = linesOf();
    late.splice(9, 0, ...late.splice(6, 1));
    expect(await verifyExport(late, { against: await noteAt(log, 7) })).toMatchObject({
      why: "A checkpoint over 5 entries stands after one over 7.",
    });
  });

  it("finds every single changed byte", async () => {
    const isNoText = (error: unknown): boolean =>
      error instanceof RuntimeFault && error.message.includes("are not UTF-8 text");
    for (let at = 0; at < bytes.length; at += 1) {
      for (const flip of [1, 0x20, 0x80]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        const found = await verifyBytes(changed).catch((error: Error) => error);
        expect(found, `byte ${at} ^ ${flip}`).toEqual(
          expect.toSatisfy((answer) => answer.intact === false || isNoText(answer)),
        );
      }
    }
  });

  it("finds a file that was cut off at any byte", async () => {
    for (let length = 0; length < bytes.length - 1; length += 1) {
      const found = await verifyBytes(bytes.subarray(0, length)).catch((error: { code: string }) => error);
      expect(found, `${length} bytes`).not.toMatchObject({ intact: true });
    }
  });

  it("finds every line that was deleted, doubled or moved", async () => {
    const lines = linesOf();
    const isOlderCheckpoint = (line: string | undefined): boolean =>
      line !== lines.at(-2) && line?.startsWith("#checkpoint") === true;
    for (let at = 0; at < lines.length; at += 1) {
      const doubled = lines.toSpliced(at, 0, lines[at] ?? "");
      const swapped = lines.toSpliced(at, 2, ...lines.slice(at, at + 2).reverse());
      expect(await verifyExport(doubled), `line ${at} twice`).toMatchObject({ intact: false });
      if (at < lines.length - 1)
        expect(await verifyExport(swapped), `line ${at} moved`).toMatchObject({ intact: false });
      // An older checkpoint says nothing that a later one does not.
      expect((await verifyExport(lines.toSpliced(at, 1))).intact, `line ${at} deleted`).toBe(
        isOlderCheckpoint(lines[at]),
      );
    }
  });

  it("accepts only the given key, and no note of another history", async () => {
    const publicKey = createSigner().publicKey;
    expect(await verifyBytes(bytes, { publicKey })).toMatchObject({
      intact: false,
      why: "It was signed by another key.",
    });
    const longer = await noteAt(logOf(20, 5), 20);
    expect(await verifyBytes(bytes, { against: longer })).toMatchObject({
      intact: false,
      firstBroken: 12,
    });
  });

  it("accepts no checkpoint in another form, and no foreign note", async () => {
    const lines = linesOf();
    const at = lines.length - 2;
    for (const line of ["#checkpoint 7", "#checkpoint {", `${lines[at]} `]) {
      expect(await verifyExport(lines.with(at, line))).toMatchObject({
        intact: false,
        firstBroken: 10,
      });
    }
    expect(await verifyBytes(bytes, { against: "foreign" })).toMatchObject({ intact: false });
  });

  it("accepts a lost checkpoint if another one covers its entries", async () => {
    const lost = { ...log, documents: { ...log.documents, get: async () => undefined } };
    const lines = exportLines(lost, signer.publicKey, () => noteAt(log, 12));
    expect(await verifyExport(lines)).toMatchObject({ intact: true, events: 12, checkpoints: 1 });
  });

  it("accepts text, bytes, and lines with or without an empty last one", async () => {
    const text = bytes.toString();
    const forms = [text, text.trimEnd(), bytes, [text], text.split("\n"), linesOf(), new Set(linesOf())];
    const found = await Promise.all(forms.map((form) => verifyExport(form)));
    for (const one of found) expect(one).toMatchObject({ intact: true, events: 12, checkpoints: 3 });
    for (const more of ["", "x"])
      expect(await verifyExport([...text.split("\n"), more])).toMatchObject({ intact: false, events: 12 });
  });

  it("says which key signed it, and whether the key is trusted", async () => {
    const { publicKey } = signer;
    expect(await verifyBytes(bytes)).toMatchObject({ publicKey, keyTrusted: false });
    expect(await verifyBytes(bytes, { publicKey: `${publicKey}\n` })).toMatchObject({ publicKey, keyTrusted: true });
  });

  it.each([undefined, null, 12, {}, [12], [bytes, undefined], () => ""])(
    "names at once what it cannot read: %s",
    async (given) => {
      await expect(verifyExport(given as never)).rejects.toMatchObject({
        name: "RuntimeFault",
        code: "request_invalid",
      });
    },
  );

  it("reads the same lines from any pieces", async () => {
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(await all(readLines(chunks))).toEqual(linesOf());
    const text = bytes.toString();
    const cuts = fc.array(fc.oneof(fc.nat(text.length), fc.constant(text.indexOf("\n"))), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.boolean(), async (places, asBytes) => {
        const whole = asBytes ? bytes : text;
        const edges = [0, ...places.toSorted((one, other) => one - other), whole.length];
        const pieces = edges.slice(1).map((end, i) => whole.slice(edges[i], end));
        expect(await all(readLines(pieces))).toEqual(linesOf());
      }),
    );
    expect(await all(readLines([]))).toEqual([]);
    expect(await all(readLines(["a", "\nb\n", ""]))).toEqual(["a", "b"]);
    await expect(all(readLines([Uint8Array.of(0xff)]))).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining("are not UTF-8 text"),
    });
    await expect(all(readLines([Uint8Array.of(0xe2, 0x82)]))).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining("are not UTF-8 text"),
    });
  });
});

import { beforeAll, describe, expect, it } from "vitest";
import type { Entry, Store } from "../stores/store.ts";
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
    events: async function* (): AsyncGenerator<Entry> {
      yield* entries;
    },
    documents: {
      get: async (_, id) => ({ version: 1, body: { note: noteOf(entries.slice(0, Number(id))) } }),
      list: async () => ids,
    },
  };
}

function noteOf(entries: readonly Entry[]): string {
  const tree = new Tree();
  for (const { body } of entries) tree.append(body);
  return signCheckpoint(signer, tree.size, tree.root());
}

async function noteAt(log: Pick<Store, "events">, size: number): Promise<string> {
  const entries: Entry[] = [];
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
    const lines = await all(exportLines(log, signer.publicKey, await noteAt(log, 12)));
    bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  });
  const verifyBytes = (file: Uint8Array, options?: Parameters<typeof verifyExport>[1]) =>
    verifyExport(readLines([file]), options);
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
    expect(await verifyExport(exportLines(none, signer.publicKey, await noteAt(none, 0)))).toMatchObject({
      intact: true,
      events: 0,
    });
  });

  it("finds every single changed byte", async () => {
    for (let at = 0; at < bytes.length; at += 1) {
      for (const flip of [1, 0x20, 0x80]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        const found = await verifyBytes(changed).catch((error: { code: string }) => error);
        expect(found, `byte ${at} ^ ${flip}`).toEqual(
          expect.toSatisfy((answer) => answer.intact === false || answer.code === "export_unreadable"),
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

  it("takes no key but the one it was given, and no note of another history", async () => {
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

  it("takes no checkpoint that is spelled otherwise, and no foreign note", async () => {
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

  it("misses a checkpoint that the store has lost, which an earlier or later one makes good", async () => {
    const lost = { ...log, documents: { ...log.documents, get: async () => undefined } };
    const lines = exportLines(lost, signer.publicKey, await noteAt(log, 12));
    expect(await verifyExport(lines)).toMatchObject({ intact: true, events: 12, checkpoints: 1 });
  });

  it("reads lines as they were cut, whatever the chunks", async () => {
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(await all(readLines(chunks))).toEqual(linesOf());
    await expect(all(readLines([Uint8Array.of(0xff)]))).rejects.toMatchObject({
      code: "export_unreadable",
    });
    await expect(all(readLines([Uint8Array.of(0xe2, 0x82)]))).rejects.toMatchObject({
      code: "export_unreadable",
    });
  });
});

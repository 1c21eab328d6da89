import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { createSigner } from "../audit/signer.ts";
import { createRuntime, defineTool } from "../index.ts";
import { manifestDigestFile, manifestFile } from "./manifest.ts";
import { restoreBackup, unpackBackup } from "./read-backup.ts";
import { type ArchivedFile, readTar, writeTar } from "./tar.ts";

const folder = ownFolder();
const by = { by: "operator", via: "token:operator" };
let whole: Buffer;
let artifact = "";
let count = 0;

/** A runtime in a file with an open request, and a call whose large result is an artifact. */
beforeAll(async () => {
  const large = defineTool({
    name: "large",
    description: "Answers much.",
    input: z.object({}),
    risk: "safe",
    idempotent: true,
    effects: "read",
    execute: () => "much ".repeat(40_000),
  });
  const send = defineTool({
    name: "send",
    description: "Sends.",
    input: z.object({ to: z.string() }),
    risk: "high",
    idempotent: false,
    execute: () => "sent",
  });
  await using runtime = await createRuntime({
    ...{ folder: join(folder, "data"), store: `sqlite:${join(folder, "data", "postern.db")}`, tools: [large, send] },
    policy: { rules: [{ effect: "confirm", tool: "send" }] },
    approvals: { patience: "suspend" },
  });
  const read = await runtime.invoke({ tool: "large", arguments: {} }, { idempotencyKey: "large" });
  artifact = read.artifact ?? "";
  expect((await runtime.invoke({ tool: "send", arguments: { to: "ann" } })).status).toBe("pending");
  mkdirSync(join(folder, "data", "archive"));
  writeFileSync(join(folder, "data", "archive", `${"long ".repeat(30)}ü.jsonl`), "kept\n");
  const pieces: Uint8Array[] = [];
  for await (const piece of runtime.storage.backup(by)) pieces.push(piece);
  whole = Buffer.concat(pieces);
});

let unpacked = "";
afterAll(() => rmSync(unpacked, { recursive: true, force: true }));

/** The fault of unpacking these bytes, or what was proved. */
async function checkedOf(bytes: Uint8Array, publicKey?: string): Promise<unknown> {
  count += 1;
  const file = join(folder, `${count}.tar`);
  unpacked = join(folder, `unpacked-${count}`);
  writeFileSync(file, bytes);
  mkdirSync(unpacked);
  try {
    return await unpackBackup(file, unpacked, { now: Date.now(), publicKey });
  } catch (error) {
    return error;
  } finally {
    rmSync(file);
    rmSync(unpacked, { recursive: true });
  }
}

/** The backup with other files in it, and a manifest that still fits them. */
async function remade(
  change: (files: Map<string, Buffer>) => void,
  manifestOf = (text: string) => text,
): Promise<Buffer> {
  const { createHash } = await import("node:crypto");
  const files = new Map<string, Buffer>();
  for await (const { name, chunks } of readTar(piecesOf(whole))) {
    const pieces: Uint8Array[] = [];
    for await (const chunk of chunks) pieces.push(Buffer.from(chunk));
    files.set(name, Buffer.concat(pieces));
  }
  change(files);
  const manifest = JSON.parse(String(files.get(manifestFile)));
  const digest = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");
  manifest.files = [...files]
    .filter(([name]) => !name.startsWith("manifest."))
    .map(([name, bytes]) => ({ name, bytes: bytes.length, sha256: digest(bytes) }));
  const text = manifestOf(JSON.stringify(manifest));
  files.set(manifestFile, Buffer.from(text));
  files.set(manifestDigestFile, Buffer.from(`${digest(text)}\n`));
  const archived = (async function* (): AsyncGenerator<ArchivedFile> {
    for (const [name, bytes] of files) yield { name, bytes: bytes.length, chunks: [bytes] };
  })();
  const pieces: Uint8Array[] = [];
  for await (const piece of writeTar(archived, 0)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

/** Changes the database of a backup by SQL. */
function changing(sql: string): (files: Map<string, Buffer>) => void {
  return (files) => {
    const file = join(folder, "changed.db");
    writeFileSync(file, files.get("postern.db") ?? "");
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
    files.set("postern.db", readFileSync(file));
  };
}

function damagedBy(why: RegExp | string): unknown {
  return expect.objectContaining({ code: "backup_damaged", message: expect.stringMatching(why) });
}

describe("a backup", () => {
  it("proves its log and its open request, and restores every file", async () => {
    expect(await checkedOf(whole)).toMatchObject({ waiting: 1, manifest: { format: 1, keys: { sealed_to: null } } });
    const [file, to] = [join(folder, "good.tar"), join(folder, "restored")];
    writeFileSync(file, whole);
    const restored = await restoreBackup(file, to, { now: Date.now() });
    expect(restored.keys).toBe("left out");
    expect(readFileSync(join(to, "archive", `${"long ".repeat(30)}ü.jsonl`), "utf8")).toBe("kept\n");
    const name = join("artifacts", artifact.slice(0, 2), artifact.slice(2));
    expect(readFileSync(join(to, name))).toEqual(readFileSync(join(folder, "data", name)));
  });

  it("is refused if another key must have signed its log", async () => {
    const own = readFileSync(join(folder, "data", "audit.pub"), "utf8");
    expect(await checkedOf(whole, own)).toMatchObject({ waiting: 1 });
    expect(await checkedOf(whole, createSigner().publicKey)).toEqual(
      damagedBy(/signed by the key .* not by the given/),
    );
    expect(await checkedOf(whole, "no key")).toMatchObject({ code: "request_invalid" });
  });

  it.each([0, 1, 511, 512, 5_000, -1025, -1024, -513, -1])("is refused when it is cut to %i bytes", async (at) => {
    expect(await checkedOf(whole.subarray(0, at))).toEqual(damagedBy(/damaged/));
  });

  it("is refused when any one byte of it is changed", async () => {
    const step = Math.floor(whole.length / 40);
    for (let at = 7; at < whole.length; at += step) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await checkedOf(changed), `byte ${at}`).toEqual(damagedBy(/damaged/));
    }
  });

  it("is refused by the name of an artifact that is missing", async () => {
    const name = `artifacts/${artifact.slice(0, 2)}/${artifact.slice(2)}`;
    expect(await checkedOf(await remade((files) => void files.delete(name)))).toEqual(damagedBy(artifact));
  });

  it.each([
    [
      "an entry of its log was changed",
      "update event set body = replace(body, 'large', 'lurge')",
      "audit log is broken",
    ],
    ["its log was cut off", "delete from event where seq > 2", "events"],
    [
      "the call of a request is missing",
      "update call set key = 'other', id = 'other' where state = 'held'",
      "its call is missing",
    ],
    [
      "a request asks about other arguments",
      "update call set arguments = '{}' where state = 'held'",
      "other arguments",
    ],
  ])("is refused when %s, although the manifest fits", async (_, sql, why) => {
    expect(await checkedOf(await remade(changing(sql)))).toEqual(damagedBy(why));
  });

  it("of another format, or with a newer store, is refused by name", async () => {
    const other = await remade(
      () => {},
      (text) => text.replace('"format":1', '"format":2'),
    );
    expect(await checkedOf(other)).toMatchObject({
      code: "backup_newer",
      message: expect.stringContaining("format 2"),
    });
    const newer = await remade(changing("update meta set value = 99 where name = 'schema'"));
    expect(await checkedOf(newer)).toMatchObject({ code: "store_newer" });
  });

  it("never writes outside of its folder", async () => {
    const outside = await remade((files) => void files.set("../outside", Buffer.from("x")));
    expect(await checkedOf(outside)).toEqual(damagedBy("the name"));
  });
});

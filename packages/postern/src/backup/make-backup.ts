import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { backup as copyDatabase, DatabaseSync } from "node:sqlite";
import { type Clock, RuntimeFault } from "@postern/core";
import { codeOf } from "@postern/core/system";
import { StoredCopy } from "../store/sqlite/stored-copy.ts";
import type { Store } from "../store/store.ts";
import {
  anchorFile,
  databaseFile,
  isKey,
  keysFile,
  type Manifest,
  type ManifestFile,
  manifestDigestFile,
  manifestFile,
} from "./manifest.ts";
import { type ArchivedFile, writeTar } from "./tar.ts";

export interface BackupOptions {
  readonly store: Pick<Store, "upkeep">;
  /** The data folder. Undefined if nothing of it lasts. */
  readonly folder: string | undefined;
  readonly clock: Clock;
  /** Signs what is in the log now. */
  readonly checkpoint: () => Promise<string>;
  readonly publicKey: () => Promise<string>;
  /** An age recipient. Without one, keys are left out. */
  readonly recipient?: string | undefined;
}

const temporaryPrefix = ".backup-";
const pieceBytes = 256 * 1024;

/**
 * The archive in pieces, while calls go on: the anchors of the log first, then the database at one moment, the other
 * files, and the artifacts last, because rows name artifacts that are there already.
 *
 * @throws RuntimeFault `backup_unsupported`, `request_invalid` for a recipient that is none, `disk_full`
 */
export async function* makeBackup(options: BackupOptions): AsyncGenerator<Uint8Array> {
  const { store, folder, clock } = options;
  const copyTo = store.upkeep?.copyTo?.bind(store.upkeep);
  if (folder === undefined || copyTo === undefined) {
    throw new RuntimeFault(
      "backup_unsupported",
      `The store of this Postern is not a file of its data folder, so it cannot be copied here. With PostgreSQL, copy \`${anchorFile}\` of the data folder, then run \`pg_dump --format=custom --schema=postern --file=postern.dump DATABASE\`, then copy the rest of the data folder without \`server.json\`, and the folder of artifacts (\`results.folder\`). \`postern restore --check\` does not read a dump: restore it into an empty database with \`pg_restore\`, and run \`postern audit verify\` there.`,
    );
  }
  const seal = options.recipient === undefined ? undefined : await sealTo(options.recipient);
  const temporary = await makeTemporary(folder);
  try {
    const copying = new Copying({ ...options, folder, seal, temporary, copyTo });
    yield* writeTar(copying.files(), Math.floor(clock.now() / 1000));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

type Seal = (bytes: Uint8Array) => Promise<Uint8Array>;

async function sealTo(recipient: string): Promise<Seal> {
  const { Encrypter } = await import("age-encryption");
  try {
    const sealer = new Encrypter();
    sealer.addRecipient(recipient);
    return (bytes) => sealer.encrypt(bytes);
  } catch (error) {
    throw new RuntimeFault(
      "request_invalid",
      `\`${recipient.slice(0, 100)}\` is not an age recipient. It begins with \`age1\`; \`age-keygen\` makes one.`,
      { cause: error },
    );
  }
}

/** Also removes what a killed process left. */
async function makeTemporary(folder: string): Promise<string> {
  for (const name of await readdir(folder))
    if (name.startsWith(temporaryPrefix)) await rm(join(folder, name), { recursive: true, force: true });
  const temporary = join(folder, `${temporaryPrefix}${randomUUID()}`);
  await mkdir(temporary, { mode: 0o700 });
  return temporary;
}

interface CopyingOptions extends BackupOptions {
  readonly folder: string;
  readonly seal: Seal | undefined;
  readonly temporary: string;
  readonly copyTo: (file: string) => Promise<void>;
}

class Copying {
  readonly #options: CopyingOptions;
  readonly #done: ManifestFile[] = [];
  readonly #keys: string[] = [];

  constructor(options: CopyingOptions) {
    this.#options = options;
  }

  async *files(): AsyncGenerator<ArchivedFile> {
    const { folder, clock, checkpoint, publicKey, recipient = null, temporary, copyTo } = this.#options;
    const note = await checkpoint();
    const takenAt = new Date(clock.now()).toISOString();
    const anchors = await readFile(join(folder, anchorFile)).catch(ifMissing(new Uint8Array()));
    yield* this.#bytes(anchorFile, anchors);
    const copy = join(temporary, databaseFile);
    await copyTo(copy);
    const { schema, rows } = lookedAt(copy);
    yield* this.#file(databaseFile, copy);
    await rm(copy);
    yield* this.#others();
    yield* this.#sealedKeys();
    yield* this.#artifacts();
    const manifest: Manifest = {
      ...{ format: 1, postern: posternVersion(), schema, taken_at: takenAt },
      log: { public_key: (await publicKey()).trim(), checkpoint: note },
      ...{ rows, files: this.#done, keys: { sealed_to: recipient, names: this.#keys } },
    };
    const text = Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`);
    yield plain(manifestFile, text);
    yield plain(manifestDigestFile, Buffer.from(`${createHash("sha256").update(text).digest("hex")}\n`));
  }

  /** The files of the data folder that are no key, no artifact and not of one process alone. */
  async *#others(): AsyncGenerator<ArchivedFile> {
    const { folder, temporary } = this.#options;
    for await (const name of filesBelow(folder)) {
      if (isKey(name)) this.#keys.push(name);
      else if (name.endsWith(".db")) {
        const copy = join(temporary, "other.db");
        await copyOther(join(folder, name), copy);
        yield* this.#file(name, copy);
        await rm(copy);
      } else if (name !== anchorFile && !name.startsWith("artifacts/")) yield* this.#file(name, join(folder, name));
    }
  }

  async *#sealedKeys(): AsyncGenerator<ArchivedFile> {
    const { folder, seal, clock } = this.#options;
    if (seal === undefined || this.#keys.length === 0) return;
    const keys = await Promise.all(this.#keys.map(async (name) => plain(name, await readFile(join(folder, name)))));
    const archive: Uint8Array[] = [];
    const listed = (async function* () {
      yield* keys;
    })();
    for await (const piece of writeTar(listed, Math.floor(clock.now() / 1000))) archive.push(piece);
    yield* this.#bytes(keysFile, await seal(Buffer.concat(archive)));
  }

  /** The bytes before what says that they are there. */
  async *#artifacts(): AsyncGenerator<ArchivedFile> {
    const { folder } = this.#options;
    for await (const name of filesBelow(folder, "artifacts"))
      if (/^artifacts\/[0-9a-f]{2}\/[0-9a-f]{62}(?:\.json)?$/.test(name)) yield* this.#file(name, join(folder, name));
  }

  /** Nothing, if the file was removed meanwhile. What is appended meanwhile is left out. */
  async *#file(name: string, path: string): AsyncGenerator<ArchivedFile> {
    const file = await open(path, "r").catch(ifMissing(undefined));
    if (file === undefined) return;
    try {
      const { size } = await file.stat();
      yield this.#hashed(name, size, piecesOf(file, size));
    } finally {
      await file.close();
    }
  }

  *#bytes(name: string, bytes: Uint8Array): Generator<ArchivedFile> {
    yield this.#hashed(name, bytes.length, [bytes]);
  }

  #hashed(name: string, bytes: number, chunks: ArchivedFile["chunks"]): ArchivedFile {
    const done = this.#done;
    const hashed = (async function* () {
      const hash = createHash("sha256");
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
      done.push({ name, bytes, sha256: hash.digest("hex") });
    })();
    return { name, bytes, chunks: hashed };
  }
}

function plain(name: string, bytes: Uint8Array): ArchivedFile {
  return { name, bytes: bytes.length, chunks: [bytes] };
}

async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = new Uint8Array(Math.min(pieceBytes, size - at));
    const { bytesRead } = await file.read(piece, 0, piece.length, at);
    if (bytesRead === 0) return; // it was shortened; the archive refuses that
    at += bytesRead;
    yield piece.subarray(0, bytesRead);
  }
}

/** What one process keeps for itself, and what can be made again. */
const left =
  /^(?:server\.json.*|postern\.db.*|\.backup-.*|.*\.(?:tmp|lock|new)|.*\.db-(?:wal|shm)|artifacts\/tmp\/.*)$/;

/** Plain files, as paths relative to the folder, in order. Links are not followed. */
async function* filesBelow(folder: string, below = ""): AsyncGenerator<string> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch(ifMissing([]));
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (left.test(name)) continue;
    if (entry.isDirectory()) {
      if (below !== "" || name !== "artifacts") yield* filesBelow(folder, name);
    } else if (entry.isFile()) yield name;
  }
}

/** A database beside the store, which another connection writes. */
async function copyOther(path: string, copy: string): Promise<void> {
  using database = new DatabaseSync(path, { readOnly: true });
  await copyDatabase(database, copy);
  using copied = new DatabaseSync(copy);
  copied.exec("pragma journal_mode=delete");
}

function lookedAt(file: string): Pick<Manifest, "schema" | "rows"> {
  using copy = new StoredCopy(file);
  return { schema: copy.version, rows: copy.rows() };
}

function ifMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (codeOf(error) === "ENOENT") return instead;
    throw error;
  };
}

function posternVersion(): string {
  const { version }: { readonly version?: unknown } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return String(version);
}

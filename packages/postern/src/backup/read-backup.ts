import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { appendFile, type FileHandle, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { canonical, isJsonObject, messageOf, RuntimeFault } from "@postern/core";
import { codeOf, isDamage, makeOwnFolder, namingFullDisk, whyUnreadable } from "@postern/core/system";
import { AnchorFile, sizeOf } from "../audit/anchor-file.ts";
import { trustedKey, verifyStore } from "../audit/verify.ts";
import { StoredCopy } from "../store/sqlite/stored-copy.ts";
import { syncFolder } from "../system/sync-folder.ts";
import {
  anchorFile,
  databaseFile,
  isKey,
  isPlainPath,
  keysFile,
  type Manifest,
  manifestDigestFile,
  manifestFile,
  manifestSchema,
} from "./manifest.ts";
import { type ArchivedFile, damaged, readTar } from "./tar.ts";

/** What a backup was proved to hold. */
export interface CheckedBackup {
  readonly manifest: Manifest;
  /** Entries of the log, all of them verified. */
  readonly events: number;
  /** Root over them, 64 hex digits. */
  readonly head: string;
  /** Requests that wait for a person, each with its call and its artifacts. */
  readonly waiting: number;
}

export interface ReadingBackup {
  /** Wall clock, milliseconds. */
  readonly now: number;
  /**
   * C2SP verifier key that must have signed the log, from elsewhere. Without it, the log is proved with the key in the
   * backup itself, which only shows that nothing was damaged.
   */
  readonly publicKey?: string | undefined;
}

const mostManifestBytes = 512 * 1024 * 1024;

/**
 * Unpacks a backup into an empty folder and proves the log and the open requests.
 *
 * @throws RuntimeFault `request_invalid` for a public key that is none, `backup_damaged` that names what is wrong, `backup_newer`, `backup_unreadable`, `store_newer`, `disk_full`
 */
export async function unpackBackup(
  file: string,
  folder: string,
  { now, publicKey }: ReadingBackup,
): Promise<CheckedBackup> {
  const wanted = publicKey?.trim();
  if (wanted !== undefined) trustedKey(wanted);
  try {
    const manifest = await unpack(file, folder);
    const own = manifest.log.public_key;
    if (wanted !== undefined && wanted !== own)
      throw damaged(`its log is signed by the key \`${own.slice(0, 200)}\`, and not by the given one, \`${wanted}\``);
    await completeAnchors(folder);
    return { manifest, ...(await prove(folder, manifest, now)) };
  } catch (error) {
    if (isDamage(error)) throw damaged(`its database cannot be read (${messageOf(error)})`);
    throw namingFullDisk(error, folder);
  }
}

/**
 * Puts a backup into a folder that is missing or empty: complete and checked, or not at all.
 *
 * @param identity the age identity that opens the keys
 * @throws RuntimeFault as `unpackBackup`, `folder_not_empty`, `backup_keys_sealed`
 */
export async function restoreBackup(
  file: string,
  to: string,
  { identity, ...reading }: ReadingBackup & { readonly identity?: string | undefined },
): Promise<CheckedBackup & { readonly keys: "restored" | "sealed" | "left out" }> {
  const target = resolve(to);
  await checkEmpty(target);
  const draft = `${target}.restoring`;
  await rm(draft, { recursive: true, force: true });
  try {
    makeOwnFolder(draft);
    const checked = await unpackBackup(file, draft, reading);
    const keys = await openKeys(draft, checked.manifest, identity);
    await rename(draft, target).catch(async (error: unknown) => {
      if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error))) throw error;
      throw notEmpty(target);
    });
    await syncFolder(dirname(target));
    return { ...checked, keys };
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw namingFullDisk(error, target);
  }
}

async function checkEmpty(folder: string): Promise<void> {
  try {
    if ((await readdir(folder)).length > 0) throw notEmpty(folder);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function notEmpty(folder: string): RuntimeFault {
  return new RuntimeFault(
    "folder_not_empty",
    `\`${folder}\` is not empty, and a backup never overwrites anything. Name a folder that is empty or not there.`,
  );
}

/** The files of the archive into the folder, each compared with the manifest. */
async function unpack(file: string, folder: string): Promise<Manifest> {
  const source = await open(file, "r").catch((error: unknown) => {
    throw new RuntimeFault("backup_unreadable", `\`${file}\` ${whyUnreadable(error)}.`, { cause: error });
  });
  const found = new Map<string, { readonly bytes: number; readonly sha256: string }>();
  try {
    for await (const archived of readTar(createReadStream("", { fd: source, autoClose: false }))) {
      const { name, bytes } = archived;
      if (!isPlainPath(name)) throw damaged(`it has a file with the name \`${name.slice(0, 100)}\``);
      if (found.has(name)) throw damaged(`it has \`${name}\` twice`);
      if (found.has(manifestDigestFile)) throw damaged("something follows its manifest");
      if (name === manifestFile && bytes > mostManifestBytes) throw damaged("its manifest is too large");
      found.set(name, { bytes, sha256: await writeOut(archived, join(folder, name)) });
    }
  } finally {
    await source.close();
  }
  return compared(folder, found);
}

async function writeOut({ chunks }: ArchivedFile, path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file: FileHandle = await open(path, "wx", 0o600);
  const hash = createHash("sha256");
  try {
    for await (const chunk of chunks) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

async function compared(
  folder: string,
  found: Map<string, { readonly bytes: number; readonly sha256: string }>,
): Promise<Manifest> {
  const own = found.get(manifestFile);
  if (own === undefined || !found.has(manifestDigestFile)) throw damaged("it was cut off before its manifest");
  const written = await readFile(join(folder, manifestDigestFile), "utf8");
  if (written !== `${own.sha256}\n`) throw damaged("its manifest was changed");
  const text: unknown = JSON.parse(await readFile(join(folder, manifestFile), "utf8"));
  const format = isJsonObject(text as never) ? (text as { readonly format?: unknown }).format : undefined;
  if (format !== 1)
    throw new RuntimeFault(
      "backup_newer",
      `The backup has the format ${String(format)}; this Postern reads format 1. Install the Postern that made it.`,
    );
  const read = manifestSchema.safeParse(text);
  if (!read.success) throw damaged("its manifest is not one of Postern");
  found.delete(manifestFile);
  found.delete(manifestDigestFile);
  for (const { name, bytes, sha256 } of read.data.files) {
    const file = found.get(name);
    if (file === undefined) throw damaged(`\`${name}\` is missing`);
    if (file.bytes !== bytes || file.sha256 !== sha256) throw damaged(`\`${name}\` was changed`);
    found.delete(name);
  }
  for (const name of found.keys()) throw damaged(`\`${name}\` is not in its manifest`);
  for (const name of [manifestFile, manifestDigestFile]) await rm(join(folder, name));
  return read.data;
}

/** The anchors were copied before the database, which may have later checkpoints. Earlier ones are never added. */
async function completeAnchors(folder: string): Promise<void> {
  const path = join(folder, anchorFile);
  const last = Math.max(0, ...(await new AnchorFile(path).notes()).map(sizeOf));
  using copy = new StoredCopy(join(folder, databaseFile));
  const later: string[] = [];
  for (const id of await copy.log.documents.list("checkpoint", "")) {
    if (Number(id) <= last) continue;
    const body = (await copy.log.documents.get("checkpoint", id))?.body;
    const note = isJsonObject(body) ? body["note"] : undefined;
    if (typeof note === "string") later.push(`${JSON.stringify(note)}\n`);
  }
  if (later.length > 0) await appendFile(path, later.join(""), { mode: 0o600, flush: true });
}

async function prove(folder: string, manifest: Manifest, now: number): Promise<Omit<CheckedBackup, "manifest">> {
  using copy = new StoredCopy(join(folder, databaseFile));
  const damage = copy.damage();
  if (damage !== undefined) throw damaged(`its database is damaged (${damage})`);
  for (const [kind, count] of Object.entries(copy.rows())) {
    const named = manifest.rows[kind as keyof Manifest["rows"]];
    if (named !== count) throw damaged(`it has ${count} ${kind}, and its manifest names ${named}`);
  }
  const { public_key: publicKey, checkpoint: against } = manifest.log;
  const anchors = await new AnchorFile(join(folder, anchorFile)).notes();
  const found = await verifyStore(copy.log, publicKey, { anchors, against });
  if (!found.intact) throw damaged(`its audit log is broken from event ${found.firstBroken} on: ${found.why}`);
  const waiting = proveWaiting(copy);
  await proveArtifacts(copy, { folder, manifest, now });
  return { events: found.events, head: found.head, waiting };
}

/** A request that waits is of no use without the call that waits for it, with the arguments that were asked about. */
function proveWaiting(copy: StoredCopy): number {
  let count = 0;
  for (const { request, call } of copy.waiting()) {
    if (call === undefined) throw damaged(`the request \`${request.id}\` waits, and its call is missing`);
    if (canonical(request.asked) !== call.call.text)
      throw damaged(`the request \`${request.id}\` asks about other arguments than its call has`);
    count += 1;
  }
  return count;
}

async function proveArtifacts(
  copy: StoredCopy,
  { folder, manifest, now }: { readonly folder: string; readonly manifest: Manifest; readonly now: number },
): Promise<void> {
  const there = new Map(manifest.files.map(({ name, sha256 }) => [name, sha256]));
  for (const digest of await copy.neededArtifacts(now)) {
    const name = `artifacts/${digest.slice(0, 2)}/${digest.slice(2)}`;
    if (there.get(name) !== digest || !there.has(`${name}.json`))
      throw damaged(`the artifact \`${digest}\` is missing or changed, and a call in \`${folder}\` needs it`);
  }
}

async function openKeys(
  folder: string,
  { keys }: Manifest,
  identity: string | undefined,
): Promise<"restored" | "sealed" | "left out"> {
  if (keys.sealed_to === null) return "left out";
  if (identity === undefined) return "sealed";
  const { Decrypter } = await import("age-encryption");
  const path = join(folder, keysFile);
  let archive: Uint8Array;
  try {
    const opener = new Decrypter();
    opener.addIdentity(identity);
    archive = await opener.decrypt(new Uint8Array(await readFile(path)));
  } catch (error) {
    const message = `The keys in the backup cannot be opened: they are sealed to \`${keys.sealed_to}\`, and the identity is not of it. Give the right one, or none to restore without keys.`;
    throw new RuntimeFault("backup_keys_sealed", message, { cause: error });
  }
  const pieces = (async function* () {
    yield archive;
  })();
  for await (const key of readTar(pieces)) {
    if (!isKey(key.name) || !keys.names.includes(key.name)) throw damaged(`\`${key.name}\` is among its keys`);
    await writeOut(key, join(folder, key.name));
  }
  await rm(path);
  return "restored";
}

/**
 * The verifier. It trusts only bodies, checkpoints and the public key, and shares no code with what writes them:
 * recount.ts, note.ts and export-reader.ts are its own.
 */

import { setImmediate } from "node:timers/promises";
import { counted, isJsonObject, RuntimeFault } from "@postern/core";
import type { Store } from "../store/store.ts";
import { ExportReader } from "./export-reader.ts";
import { type ExportedLog, readLines } from "./lines.ts";
import { type Broken, integrityOf, type LogVerdict, type Verification } from "./log.ts";
import { openCheckpoint, readVerifierKey, type VerifierKey } from "./note.ts";
import { Recount } from "./recount.ts";

export interface VerifyLogOptions {
  /** Signed notes from outside the database. */
  readonly anchors?: Iterable<string> | AsyncIterable<string>;
  /** One more of these notes. */
  readonly against?: string;
  /** Reads at least so many entries and everything that was signed. A running log grows while it is read. */
  readonly upTo?: number;
}

/** @public */
export interface VerifyExportOptions {
  /** The key from another source (`audit.pub`). Without it, the file is checked with the key in the file: that only proves that nothing was damaged. */
  readonly publicKey?: string;
  /** A signed note from elsewhere. It shows whether the file was cut off or has another history. */
  readonly against?: string;
}

/**
 * The result for an exported log. Only with `keyTrusted` does `intact` say something about its writer.
 *
 * @public
 */
export type ExportVerification = (
  | (Extract<Verification, { readonly intact: true }> & {
      /** The verifier key that signed every checkpoint in the file. */
      readonly publicKey: string;
      /** Whether it is the given key. Otherwise it comes from the file itself, which may be forged. */
      readonly keyTrusted: boolean;
    })
  | Broken
) &
  LogVerdict;

/**
 * Reads every entry again and finds any that was changed, moved, added or removed since it was signed.
 * Entries after the last checkpoint count as `unsigned`: in order, but not signed. A store that cannot be read gives
 * `unreadable`.
 *
 * @param publicKey C2SP verifier key, as in `audit.pub`
 * @throws RuntimeFault `request_invalid`
 */
export async function verifyStore(
  store: Pick<Store, "events" | "documents">,
  publicKey: string,
  options: VerifyLogOptions = {},
): Promise<Verification> {
  const key = trustedKey(publicKey);
  const recount = new Recount(key);
  try {
    const foreign = await claimAll(recount, key, options);
    return foreign ?? (await readAll(store, { key, recount, upTo: options.upTo }));
  } catch (error) {
    return recount.unread(error);
  }
}

interface VerifyReading {
  readonly key: VerifierKey;
  readonly recount: Recount;
  readonly upTo: number | undefined;
}

/** Throws only errors of the store. Wrong entries are a result. */
async function readAll(
  store: Pick<Store, "events" | "documents">,
  { key, recount, upTo = Number.POSITIVE_INFINITY }: VerifyReading,
): Promise<Verification> {
  const ids = await store.documents.list("checkpoint", "");
  const odd = ids.find((id) => !/^[0-9]{16}$/.test(id));
  if (odd !== undefined) return recount.broken(`The checkpoint \`${odd}\` is not in its place.`);
  const signed = Number(ids.at(-1) ?? 0);
  const until = Math.max(upTo, signed, recount.claimedSize);
  const checkpoints = [...ids];
  let next = 0;
  for await (const { seq, body } of store.events({ after: -1, fresh: true })) {
    if (recount.size >= until && !recount.isUnexplained) break; // an erasure may be recorded while the log is read
    const wrong = placeProblem(recount, seq, body) ?? recount.add(body);
    if (wrong !== undefined) return wrong;
    let isStale = body.startsWith("#"); // the entry was erased after the list was read, so a later checkpoint signs it
    for (;;) {
      if (isStale && next === checkpoints.length && recount.isUnexplained) {
        const later = await store.documents.list("checkpoint", "");
        checkpoints.push(...later.filter((id) => Number(id) >= recount.size && id > (checkpoints.at(-1) ?? "")));
        isStale = false;
      }
      const id = checkpoints[next];
      if (id === undefined || Number(id) > recount.size) break;
      const unsigned = await checkOne(store, key, recount, id);
      if (unsigned !== undefined) return unsigned;
      next += 1;
      isStale = true;
      await setImmediate(); // a signature takes as long as thirty entries
    }
  }
  const beyond = checkpoints[next];
  if (beyond !== undefined && Number(beyond) <= signed) {
    const why = `A checkpoint signs ${counted(Number(beyond), "entry", "entries")}, but only ${recount.size} are left: the log was cut off.`;
    return recount.broken(why, recount.size);
  }
  return recount.end();
}

const header = /^#postern-audit 1 (\S+)$/;

/**
 * Checks an exported log. It needs only the file.
 *
 * @example
 * const found = await verifyExport(createReadStream("audit.log"), { publicKey: await readFile("audit.pub", "utf8") });
 * if (!found.intact) console.log(`From entry ${found.firstBroken} on: ${found.why}`);
 *
 * @throws RuntimeFault `request_invalid` for an invalid key, and for a value that is no text
 * @public
 */
export async function verifyExport(log: ExportedLog, options: VerifyExportOptions = {}): Promise<ExportVerification> {
  const trusted = options.publicKey?.trim();
  if (trusted !== undefined) trustedKey(trusted);
  const { publicKey, found } = await readExport(log, options);
  const keyTrusted = trusted !== undefined;
  const signer = !keyTrusted || publicKey === undefined ? "unproven" : publicKey === trusted ? "trusted" : "foreign";
  const integrity = integrityOf(found);
  if (signer === "foreign") {
    const { events } = found;
    const foreign = { intact: false, events, firstBroken: 0, why: "It was signed by another key." } as const;
    return { ...foreign, integrity, signer, outcome: "failed" };
  }
  if (!found.intact) return { ...found, integrity, signer, outcome: "failed" };
  return { ...found, publicKey: publicKey ?? "", keyTrusted, integrity, signer, outcome: "ok" };
}

/** Checks the file with the key that it names. The caller decides whether that key is the right one. */
async function readExport(
  log: ExportedLog,
  options: VerifyExportOptions,
): Promise<{ readonly publicKey?: string; readonly found: Verification }> {
  let recount = new Recount();
  let reader: ExportReader | undefined;
  let publicKey = "";
  for await (const line of readLines(log)) {
    if (reader === undefined) {
      const [, named] = header.exec(line) ?? [];
      if (named === undefined)
        return { found: recount.broken("The first line is not that of an exported audit log, version 1.") };
      const key = readVerifierKey(named);
      if (key === undefined) return { found: recount.broken("The public key in the first line is damaged.") };
      publicKey = named;
      recount = new Recount(key);
      const foreign = await claimAll(recount, key, options);
      if (foreign !== undefined) return { publicKey, found: foreign };
      reader = new ExportReader(recount, key);
    } else {
      const wrong = reader.read(line);
      if (wrong !== undefined) return { publicKey, found: wrong };
    }
  }
  if (reader === undefined) return { found: recount.broken("There is nothing in it.") };
  return { publicKey, found: reader.end() };
}

/** @throws RuntimeFault `request_invalid` */
export function trustedKey(publicKey: string): VerifierKey {
  const key = readVerifierKey(publicKey.trim());
  if (key !== undefined) return key;
  throw new RuntimeFault(
    "request_invalid",
    `\`${publicKey.slice(0, 100)}\` is not a public key of an audit log; take the line in \`audit.pub\`.`,
  );
}

/** Adds the notes from elsewhere, each once. */
async function claimAll(
  recount: Recount,
  key: VerifierKey,
  { anchors = [], against }: VerifyLogOptions,
): Promise<Broken | undefined> {
  const notes = new Set<string>();
  for await (const note of anchors) notes.add(note);
  if (against !== undefined) notes.add(against);
  for (const note of notes) {
    const checkpoint = openCheckpoint(note, key);
    if (checkpoint === undefined) {
      const [origin = "", size = ""] = note.split("\n");
      return recount.broken(
        `A note kept elsewhere (\`${origin.slice(0, 60)}\`, ${size.slice(0, 16)} entries) is not signed by this log's key.`,
      );
    }
    recount.claim(checkpoint);
    await setImmediate(); // a log has thousands of notes, and calls wait meanwhile
  }
  return undefined;
}

function placeProblem(recount: Recount, seq: number, body: unknown): Broken | undefined {
  if (seq !== recount.size) {
    const missing = Math.min(seq, recount.size);
    return recount.broken(`Entry ${seq} stands where entry ${recount.size} belongs.`, missing);
  }
  return typeof body === "string" ? undefined : recount.broken(`Entry ${seq} is not text.`, seq);
}

async function checkOne(
  store: Pick<Store, "documents">,
  key: VerifierKey,
  recount: Recount,
  id: string,
): Promise<Broken | undefined> {
  const document = await store.documents.get("checkpoint", id);
  const note = isJsonObject(document?.body) ? document.body["note"] : undefined;
  const checkpoint = typeof note === "string" ? openCheckpoint(note, key) : undefined;
  if (checkpoint === undefined) {
    return recount.broken(
      `The checkpoint over ${counted(Number(id), "entry", "entries")} is not signed by this log's key.`,
    );
  }
  if (checkpoint.size !== Number(id)) {
    return recount.broken(`The checkpoint \`${id}\` signs ${counted(checkpoint.size, "entry", "entries")}.`);
  }
  return recount.checkpoint(checkpoint);
}

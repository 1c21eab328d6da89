/**
 * Reads and writes the file of a client. It belongs to another program, so it is written whole or not at all, only as
 * it was read, and never through a link.
 */

import { constants } from "node:fs";
import { chmod, mkdir, open, realpath, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, sha256, whyUnreadable } from "@postern/core/system";
import { noLink } from "../../system/plain-file.ts";
import { createWhole, placeDraft, writeDraft } from "../../system/whole-file.ts";
import { refused } from "./client-format.ts";

/** Far more than a list of servers. */
const mostBytes = 16 * 1024 * 1024;

export interface ClientFile {
  /** Absolute. */
  readonly path: string;
  /** Undefined when there is no such file. */
  readonly bytes: Buffer | undefined;
  /** Permission bits. */
  readonly mode: number;
}

/** @throws RuntimeFault `request_invalid` for a file that must not be replaced */
export async function readClientFile(path: string): Promise<ClientFile> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, constants.O_RDONLY | noLink | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { path, bytes: undefined, mode: 0o600 };
    if (codeOf(error) === "ELOOP") throw refused(path, await linkProblem(path), error);
    throw refused(path, `${whyUnreadable(error)}. Make it a file of yours`, error);
  }
  try {
    const found = await file.stat();
    const { mode, nlink, size, uid } = found;
    if (!found.isFile()) throw refused(path, "is not a file. Name the file of the client: `--file PATH`");
    if (nlink > 1)
      throw refused(path, "has more than one name, and a write would separate them. Make it a file of its own");
    if (process.getuid !== undefined && uid !== process.getuid())
      throw refused(path, `belongs to another user (${uid}). Run the command as that user, or make it a file of yours`);
    if (size > mostBytes)
      throw refused(path, `has ${size} bytes; at most ${mostBytes} are read. Name the file of the client`);
    return { path, bytes: await file.readFile(), mode: mode & 0o777 };
  } finally {
    await file.close();
  }
}

async function linkProblem(path: string): Promise<string> {
  const target = await realpath(path).catch(() => undefined); // it leads nowhere
  const fix = target === undefined ? "Remove the link" : `Name the file itself: \`--file ${target}\``;
  return `is a link, and a write would replace it. ${fix}`;
}

/** The text without a byte order mark. @throws RuntimeFault `request_invalid` */
export function textIn({ path, bytes }: ClientFile): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes ?? Buffer.alloc(0));
  } catch (error) {
    throw refused(path, "is not UTF-8 text. Save it as UTF-8 first", error);
  }
}

/** The bytes of an edited text, with the byte order mark of the file. */
export function bytesFor({ bytes }: ClientFile, text: string): Buffer {
  const hasMark = bytes?.subarray(0, 3).equals(byteOrderMark) === true;
  return Buffer.concat([hasMark ? byteOrderMark : Buffer.alloc(0), Buffer.from(text)]);
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Replaces the file if it is still as it was read. Its mode stays.
 *
 * @param bytes undefined: the file is removed
 * @throws RuntimeFault `request_invalid` if the file was changed
 */
export async function replaceClientFile(file: ClientFile, bytes: Buffer | undefined): Promise<void> {
  const { path, mode } = file;
  if (file.bytes === undefined) {
    await mkdir(dirname(path), { recursive: true });
    if (bytes !== undefined && !(await createWhole(path, bytes))) throw changedMeanwhile(path);
    return;
  }
  if (bytes === undefined) {
    await checkUnchanged(file);
    return rm(path);
  }
  const draft = await writeDraft(piecesOf(bytes), dirname(path), () => {});
  try {
    await chmod(draft, mode);
    await checkUnchanged(file); // directly before the rename
    await placeDraft(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function checkUnchanged({ path, bytes }: ClientFile): Promise<void> {
  const now = await readClientFile(path);
  if (now.bytes === undefined || bytes === undefined || !now.bytes.equals(bytes)) throw changedMeanwhile(path);
}

function changedMeanwhile(path: string): Error {
  return refused(path, "was changed after it was shown. Send the command again");
}

/** Where the file is kept as it was before this text was written. Only the text that `connect` wrote leads to it. */
export function backupOf(path: string, written: Buffer): string {
  return `${path}.before-postern-${sha256(written).slice(0, 16)}`;
}

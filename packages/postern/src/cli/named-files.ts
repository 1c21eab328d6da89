/** Files that are named on a command line. One that cannot be read is a usage error, code 2, not the finding of a check. */
import { type FileHandle, open, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { RuntimeFault } from "@postern/core";
import { codeOf, whyUnreadable } from "@postern/core/system";
import { visible } from "./output/text.ts";
import { UsageProblem } from "./usage-problem.ts";

/** @param what it is, where its path alone does not say so: `The script ` */
export async function readNamed(file: string, what = ""): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file));
  } catch (error) {
    throw unreadable(file, error, what);
  }
}

/** For reading in pieces; the caller closes it. */
export async function openNamed(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file, "r");
    if (!(await handle.stat()).isDirectory()) return handle;
    await handle.close();
  } catch (error) {
    throw unreadable(file, error);
  }
  throw new UsageProblem(`\`${visible(file)}\` is a folder.`);
}

function unreadable(file: string, error: unknown, what = ""): UsageProblem {
  return new UsageProblem(`${what}\`${visible(file)}\` ${whyUnreadable(error)}.`, { cause: error });
}

/** Writes a file that does not exist yet, for this user alone. On failure no part of it stays. */
export async function writeNamed(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const to = (await makeNamed(file)).createWriteStream({ flush: true });
  try {
    await pipeline(bytes, to);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

async function makeNamed(file: string): Promise<FileHandle> {
  try {
    return await open(file, "wx", 0o600);
  } catch (error) {
    const message = `\`${visible(file)}\` cannot be made: ${await whyUnmade(file, error)}`;
    throw new RuntimeFault("request_invalid", message, { cause: error });
  }
}

async function whyUnmade(file: string, error: unknown): Promise<string> {
  const hasFolder = await stat(dirname(file)).then(
    () => true,
    () => false,
  );
  if (codeOf(error) === "EEXIST") return "it is there already. Name a file that is not there yet.";
  if (!hasFolder) return `its folder \`${visible(dirname(file))}\` is not there.`;
  return `it ${whyUnreadable(error)}.`;
}

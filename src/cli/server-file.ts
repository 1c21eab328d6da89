import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { isAlive } from "../core/system/alive.ts";
import { codeOf } from "../core/system/error-code.ts";
import { makeOwnFolder } from "../core/system/own-folder.ts";
import { unusableFolder } from "../server/credentials.ts";

/**
 * `DIR/server.json`: where the Postern of this data folder listens, while it runs; before and after that, that it is
 * starting, or stopping. Where none runs: which command has the books, for as long as that takes.
 */
export interface ServerFile {
  readonly port: number;
  readonly pid: number;
  readonly url: string;
}

const shape = z.object({
  port: z.int().min(1).max(65_535),
  pid: z.int().positive(),
  url: z.string().regex(/^http:\/\/(127\.0\.0\.1|localhost|\[::1\]):\d+$/),
});

/** What ends by itself, or becomes a Postern that runs. */
export type Passing = "starting" | "stopping" | "command";

const passing = z.object({ pid: z.int().positive(), state: z.enum(["starting", "stopping", "command"]) });

/** Said once, to whoever waits. */
export const waitingFor: Readonly<Record<Passing, string>> = {
  starting: "Postern is being started here; waiting for it.\n",
  stopping: "Postern is being stopped here; waiting for it.\n",
  command: "Another command is at work on these books; waiting for it.\n",
};

const nothing: Disposable = { [Symbol.dispose]: () => {} };
const lookEveryMs = 100;
/** Its servers are started meanwhile, some from the network. */
const patienceMs = 30_000;

export function sleep(clock: Clock, ms: number, keepsAlive = true): Promise<void> {
  return new Promise((resolve) => void clock.in(ms, resolve, keepsAlive));
}

function pathIn(folder: string): string {
  return join(folder, "server.json");
}

export function writeServerFile(folder: string, file: ServerFile): void {
  write(folder, file);
}

/**
 * From here on commands wait for it, instead of opening the folder themselves.
 *
 * @throws RuntimeFault `data_folder_unusable`
 */
export function writeStarting(folder: string): void {
  try {
    makeOwnFolder(folder);
    write(folder, { pid: process.pid, state: "starting" });
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

/** Nobody finds it any more; whoever wants the books waits until they are closed. A full disk or a folder that is gone holds no stop up. */
export function writeStopping(folder: string): void {
  try {
    write(folder, { pid: process.pid, state: "stopping" });
  } catch {
    removeServerFile(folder);
  }
}

/**
 * The books for one command: whoever comes meanwhile waits for it. Undefined: somebody else has them. Where no such file can
 * be written nobody waits, and the store says what is wrong.
 */
function takeBooks(folder: string): Disposable | undefined {
  const [path, beside] = [pathIn(folder), besideIn(folder)];
  try {
    if (holderOf(folder) === undefined) rmSync(path, { force: true }); // of one that is gone
    writeFileSync(beside, `${JSON.stringify({ pid: process.pid, state: "command" })}\n`, { mode: 0o600 });
    linkSync(beside, path); // of two who try only one succeeds
    return { [Symbol.dispose]: () => removeServerFile(folder) };
  } catch (error) {
    return codeOf(error) === "EEXIST" && holderOf(folder) !== process.pid ? undefined : nothing;
  } finally {
    rmSync(beside, { force: true });
  }
}

function besideIn(folder: string): string {
  return `${pathIn(folder)}.${process.pid}.tmp`;
}

/** Written beside and moved into place, so that no reader sees half of it. */
function write(folder: string, file: z.input<typeof passing> | ServerFile): void {
  writeFileSync(besideIn(folder), `${JSON.stringify(file)}\n`, { mode: 0o600 });
  renameSync(besideIn(folder), pathIn(folder));
}

/** Only one's own: a successor may have written its own by now. */
export function removeServerFile(folder: string): void {
  const value = read(folder);
  const { data } = shape.or(passing).safeParse(value);
  if (data?.pid === process.pid) rmSync(pathIn(folder), { force: true });
}

/**
 * Undefined when none runs: no file, an unreadable one, or one whose process is gone (it was killed and could not
 * remove it). The address is checked to be this machine's, because the tokens are sent there.
 */
export function readServerFile(folder: string): ServerFile | undefined {
  const { data } = shape.safeParse(read(folder));
  return data !== undefined && isAlive(data.pid) ? data : undefined;
}

/**
 * As `readServerFile`, after waiting for one that is starting or stopping, or for the command that has the books. One that was
 * killed may have had the number that a process has now, or this one (in a container the first is always the same): it is
 * believed when its port answers.
 *
 * @param waiting told once, when there is something to wait for
 */
export async function findServer(
  folder: string,
  clock: Clock,
  waiting: (what: Passing) => void = () => {},
): Promise<ServerFile | undefined> {
  const until = clock.monotonic() + patienceMs;
  let isTold = false;
  for (let state = passingIn(folder); state !== undefined && clock.monotonic() < until; state = passingIn(folder)) {
    if (!isTold) waiting(state);
    isTold = true;
    await sleep(clock, lookEveryMs);
  }
  const server = readServerFile(folder);
  return server !== undefined && (await isHeard(server)) ? server : undefined;
}

/** Whether anybody listens there. */
function isHeard({ url, port }: ServerFile): Promise<boolean> {
  return new Promise((resolve) => {
    const line = connect({ host: new URL(url).hostname.replace(/^\[|\]$/g, ""), port });
    line.once("error", (error) => resolve(codeOf(error) !== "ECONNREFUSED"));
    line.once("connect", () => {
      line.destroy();
      resolve(true);
    });
  });
}

/** The Postern that runs; where none does, the books for one command. After half a minute the store is to say who has them. */
export async function findServerOrBooks(
  folder: string,
  clock: Clock,
  waiting: (what: Passing) => void,
): Promise<{ readonly server: ServerFile } | { readonly books: Disposable }> {
  const until = clock.monotonic() + patienceMs;
  for (;;) {
    const server = await findServer(folder, clock, waiting);
    if (server !== undefined) return { server };
    const books = takeBooks(folder);
    if (books !== undefined) return { books };
    if (clock.monotonic() >= until) return { books: nothing };
  }
}

/** Of another process that lives. */
function passingIn(folder: string): Passing | undefined {
  const { data } = passing.safeParse(read(folder));
  return data !== undefined && data.pid !== process.pid && isAlive(data.pid) ? data.state : undefined;
}

/** Who lives and has the books without being heard, this process too. */
function holderOf(folder: string): number | undefined {
  const { data } = passing.safeParse(read(folder));
  return data !== undefined && isAlive(data.pid) ? data.pid : undefined;
}

/** Undefined: there is none, or it is not ours; starting writes a new one. */
function read(folder: string): unknown {
  try {
    return JSON.parse(readFileSync(pathIn(folder), "utf8"));
  } catch {
    return undefined;
  }
}

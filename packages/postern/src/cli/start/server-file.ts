import { linkSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Clock } from "@postern/core";
import { codeOf, isAlive, makeOwnFolder, namingFullDisk } from "@postern/core/system";
import { z } from "zod";
import { unusableFolder } from "../../server/credentials.ts";
import { isOfThisMachine } from "../../server/http/own-hosts.ts";

const pid = z.int().positive();
/** The tokens are sent to this address, so it must be of this machine. */
const running = z.object({
  port: z.int().min(1).max(65_535),
  pid,
  url: z
    .string()
    .regex(/^http:\/\/[^/?#@]+:\d+$/)
    .refine((url) => URL.canParse(url) && isOfThisMachine(hostIn(url))),
});
const busy = z.object({ pid, state: z.enum(["starting", "stopping", "command"]) });

/**
 * `DIR/server.json`: where the Postern of this data folder listens. Before and after that: that it starts or stops. If
 * none runs: which command uses the store.
 */
export type ServerFile = Readonly<z.infer<typeof running>>;

/** A state that ends by itself, or becomes a running Postern. */
export type BusyState = z.infer<typeof busy>["state"];

/** Printed once to the caller that waits. */
export const waitingFor: Readonly<Record<BusyState, string>> = {
  starting: "Postern is being started here; waiting for it.\n",
  stopping: "Postern is being stopped here; waiting for it.\n",
  command: "Another command uses this store; waiting for it.\n",
};

function hostIn(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, "");
}

const noLock: Disposable = { [Symbol.dispose]: () => {} };
const lookEveryMs = 100;
/** A start connects servers, some of them over the network. */
const longestWaitMs = 30_000;

export function sleep(clock: Clock, ms: number, keepsAlive = true): Promise<void> {
  return new Promise((resolve) => void clock.in(ms, resolve, keepsAlive));
}

function pathIn(folder: string): string {
  return join(folder, "server.json");
}

/** What names the folder itself, also under another path: a copy of it has another. */
function identityOf(folder: string): string {
  const { dev, ino } = statSync(folder, { bigint: true });
  return `${dev}.${ino}`;
}

/** Returns undefined if there is no file, if it is invalid, of another folder (this one is a copy), or if its process is gone. */
function read(folder: string): z.infer<typeof running> | z.infer<typeof busy> | undefined {
  try {
    const content = JSON.parse(readFileSync(pathIn(folder), "utf8"));
    const { data } = running.or(busy).safeParse(content);
    const isCopy = content.folder !== undefined && content.folder !== identityOf(folder);
    return data !== undefined && !isCopy && isAlive(data.pid) ? data : undefined;
  } catch {
    return undefined; // the next start writes a new one
  }
}

/** Writes beside the file and moves it into place, so that no reader sees half of it. */
function write(
  folder: string,
  content: ServerFile | z.infer<typeof busy>,
  place: typeof renameSync = renameSync,
): void {
  const beside = `${pathIn(folder)}.${process.pid}.tmp`;
  try {
    writeFileSync(beside, `${JSON.stringify({ ...content, folder: identityOf(folder) })}\n`, { mode: 0o600 });
    place(beside, pathIn(folder));
  } catch (error) {
    throw namingFullDisk(error, pathIn(folder));
  } finally {
    rmSync(beside, { force: true });
  }
}

export function writeServerFile(folder: string, file: ServerFile): void {
  write(folder, file);
}

/**
 * From now on commands wait for this start, instead of opening the store.
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

/** From now on commands wait until the store is closed. A full disk or a missing folder does not delay the stop. */
export function writeStopping(folder: string): void {
  try {
    write(folder, { pid: process.pid, state: "stopping" });
  } catch {
    removeServerFile(folder);
  }
}

/** Removes only the file of this process: a successor may have written its own. */
export function removeServerFile(folder: string): void {
  if (read(folder)?.pid === process.pid) rmSync(pathIn(folder), { force: true });
}

/**
 * Locks the store for one command: others wait for it. Returns undefined if another process has the lock. If the file
 * cannot be written there is no lock, and the store says what is wrong.
 */
function lockStore(folder: string): Disposable | undefined {
  const holder = (): number | undefined => {
    const found = read(folder);
    return found !== undefined && "state" in found ? found.pid : undefined;
  };
  try {
    if (holder() === undefined) rmSync(pathIn(folder), { force: true }); // its process is gone, or its number is used again
    write(folder, { pid: process.pid, state: "command" }, linkSync); // of two callers only one succeeds
    return { [Symbol.dispose]: () => removeServerFile(folder) };
  } catch (error) {
    return codeOf(error) === "EEXIST" && holder() !== process.pid ? undefined : noLock;
  }
}

/** Returns undefined when no Postern runs. */
export function readServerFile(folder: string): ServerFile | undefined {
  const found = read(folder);
  return found !== undefined && "url" in found ? found : undefined;
}

/**
 * As `readServerFile`, after waiting for another process that starts, stops or uses the store. The process number of a
 * killed Postern may be in use again, in a container by this process. So the port must answer.
 *
 * @param waiting called once, when there is something to wait for
 */
export async function findServer(
  folder: string,
  clock: Clock,
  waiting: (state: BusyState) => void = () => {},
): Promise<ServerFile | undefined> {
  const until = clock.monotonic() + longestWaitMs;
  const busyState = (): BusyState | undefined => {
    const found = read(folder);
    return found !== undefined && "state" in found && found.pid !== process.pid ? found.state : undefined;
  };
  let isPrinted = false;
  for (let state = busyState(); state !== undefined && clock.monotonic() < until; state = busyState()) {
    if (!isPrinted) waiting(state);
    isPrinted = true;
    await sleep(clock, lookEveryMs);
  }
  const server = readServerFile(folder);
  return server !== undefined && (await answers(server)) ? server : undefined;
}

function answers({ url, port }: ServerFile): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostIn(url), port });
    socket.once("error", (error) => resolve(codeOf(error) !== "ECONNREFUSED"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** The running Postern, or the lock of the store. After half a minute without the lock, the store refuses or opens. */
export async function findServerOrLock(
  folder: string,
  clock: Clock,
  waiting: (state: BusyState) => void,
): Promise<{ readonly server: ServerFile } | { readonly lock: Disposable }> {
  const until = clock.monotonic() + longestWaitMs;
  for (;;) {
    const server = await findServer(folder, clock, waiting);
    if (server !== undefined) return { server };
    const lock = lockStore(folder);
    if (lock !== undefined) return { lock };
    if (clock.monotonic() >= until) return { lock: noLock };
  }
}

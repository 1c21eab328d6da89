import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../../calls/clock.ts";
import { isAlive } from "../../system/alive.ts";
import { makeOwnFolder } from "../../system/own-folder.ts";
import { unusableFolder } from "../credentials.ts";

/** `DIR/server.json`: where the Postern of this data folder listens, while it runs; before that, that it is starting. */
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

const starting = z.object({ pid: z.int().positive(), starting: z.literal(true) });

const lookEveryMs = 100;
/** Its servers are started meanwhile, some from the network. */
const patienceMs = 30_000;

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
    write(folder, { pid: process.pid, starting: true });
  } catch (error) {
    throw unusableFolder(folder, error);
  }
}

/** Written beside and moved into place, so that no reader sees half of it. */
function write(folder: string, file: z.input<typeof starting> | ServerFile): void {
  const beside = `${pathIn(folder)}.${process.pid}.tmp`;
  writeFileSync(beside, `${JSON.stringify(file)}\n`, { mode: 0o600 });
  renameSync(beside, pathIn(folder));
}

/** Only one's own: a successor may have written its own by now. */
export function removeServerFile(folder: string): void {
  const value = read(folder);
  const { data } = shape.or(starting).safeParse(value);
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
 * As `readServerFile`, after waiting for one that is just starting.
 *
 * @param waiting told once, when there is something to wait for
 */
export async function findServer(
  folder: string,
  clock: Clock,
  waiting: () => void = () => {},
): Promise<ServerFile | undefined> {
  const until = clock.monotonic() + patienceMs;
  for (let looks = 0; isStarting(folder) && clock.monotonic() < until; looks += 1) {
    if (looks === 0) waiting();
    await new Promise<void>((resolve) => void clock.in(lookEveryMs, resolve));
  }
  return readServerFile(folder);
}

function isStarting(folder: string): boolean {
  const { data } = starting.safeParse(read(folder));
  return data !== undefined && data.pid !== process.pid && isAlive(data.pid);
}

/** Undefined: there is none, or it is not ours; starting writes a new one. */
function read(folder: string): unknown {
  try {
    return JSON.parse(readFileSync(pathIn(folder), "utf8"));
  } catch {
    return undefined;
  }
}

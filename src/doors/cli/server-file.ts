import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { isAlive } from "../../system/alive.ts";

/** `DIR/server.json`: where the Postern of this data folder listens, while it runs. */
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

function pathIn(folder: string): string {
  return join(folder, "server.json");
}

/** Written beside and moved into place, so that no reader sees half of it. */
export function writeServerFile(folder: string, file: ServerFile): void {
  const beside = `${pathIn(folder)}.${process.pid}.tmp`;
  writeFileSync(beside, `${JSON.stringify(file)}\n`, { mode: 0o600 });
  renameSync(beside, pathIn(folder));
}

/** Only one's own: a successor may have written its own by now. */
export function removeServerFile(folder: string): void {
  if (readServerFile(folder)?.pid === process.pid) rmSync(pathIn(folder), { force: true });
}

/**
 * Undefined when none runs: no file, an unreadable one, or one whose process is gone (it was killed and could not
 * remove it). The address is checked to be this machine's, because the tokens are sent there.
 */
export function readServerFile(folder: string): ServerFile | undefined {
  let text: string;
  try {
    text = readFileSync(pathIn(folder), "utf8");
  } catch {
    return undefined; // none runs here
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // not ours: starting writes a new one
  }
  const parsed = shape.safeParse(value);
  return parsed.success && isAlive(parsed.data.pid) ? parsed.data : undefined;
}

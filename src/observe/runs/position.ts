import { join } from "node:path";
import { readWholeFile, writeWholeFile } from "./whole-file.ts";

/** How far the run folders follow the audit log. Entries from `since` to before `up_to` have their lines in the files. */
export interface Position {
  /** Where this archive began. */
  readonly since: number;
  readonly up_to: number;
}

const name = ".position.json";

/** @param size entries in the audit log now: a new archive begins there, and a position beyond it is of another log */
export async function readPosition(folder: string, size: number): Promise<Position> {
  const text = await readWholeFile(join(folder, name));
  const found = text === undefined ? undefined : parsed(text);
  if (found === undefined) return { since: size, up_to: size };
  return found.up_to <= size ? found : { since: 0, up_to: 0 };
}

export async function writePosition(folder: string, { since, up_to }: Position): Promise<void> {
  await writeWholeFile(join(folder, name), `${JSON.stringify({ since, up_to })}\n`);
}

function parsed(text: string): Position | undefined {
  try {
    const { since, up_to }: Partial<Position> = JSON.parse(text);
    if (!Number.isSafeInteger(since) || !Number.isSafeInteger(up_to)) return undefined;
    return { since: since ?? 0, up_to: up_to ?? 0 };
  } catch {
    return undefined; // the archive begins at the end of the log, and written lines stay
  }
}

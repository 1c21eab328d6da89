import { appendFile, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "@postern/core/system";

import { syncFolder } from "../system/sync-folder.ts";

/**
 * Checkpoints outside the database: one signed note a line, as a JSON string. Someone who cuts off the table and its
 * checkpoints does not reach them, above all if the file is on another disk or append-only (`chattr +a`).
 */
export class AnchorFile {
  readonly path: string;
  #isChecked = false;
  /** Notes that could not be written; the next append writes them too. */
  readonly #unwritten: string[] = [];

  constructor(path: string) {
    this.path = path;
  }

  /** How many notes could not be written yet. */
  get waiting(): number {
    return this.#unwritten.length;
  }

  /** Resolves when the notes are on the disk, with their number: earlier ones may be among them. */
  async append(notes: readonly string[]): Promise<number> {
    this.#unwritten.push(...notes);
    const { length } = this.#unwritten;
    if (length === 0) return 0;
    const lines = this.#unwritten.map((one) => `${JSON.stringify(one)}\n`).join("");
    const isTorn = !this.#isChecked && /[^\n]$/.test(await this.#text()); // a power cut may leave half a line
    await appendFile(this.path, isTorn ? `\n${lines}` : lines, { mode: 0o600, flush: true });
    this.#unwritten.length = 0;
    if (!this.#isChecked) await syncFolder(dirname(this.path)); // the file may be new
    this.#isChecked = true;
    return length;
  }

  /** All notes. Half a line is no note. */
  async notes(): Promise<readonly string[]> {
    return (await this.#text()).split("\n").flatMap((line) => {
      try {
        const note: unknown = JSON.parse(line);
        return typeof note === "string" ? [note] : [];
      } catch {
        return [];
      }
    });
  }

  async #text(): Promise<string> {
    try {
      return await readFile(this.path, "utf8");
    } catch (error) {
      if (codeOf(error) === "ENOENT") return "";
      throw error;
    }
  }
}

/** How many entries a note signs. Its signature is not checked. */
export function sizeOf(note: string): number {
  const size = Number(note.split("\n")[1]);
  return Number.isSafeInteger(size) ? size : 0;
}

import { join } from "node:path";
import { readWholeFile, writeWholeFile } from "./whole-file.ts";

interface Kept {
  readonly since: number;
  readonly up_to: number;
  readonly gaps: readonly (readonly [from: number, to: number])[];
}

/**
 * How far the run folders follow the audit log, beside them on the disk: what lies behind it is made up after a crash.
 * A range that nobody makes up is a gap.
 */
export class Position {
  readonly #path: string;
  #since: number;
  #upTo: number;
  readonly #gaps: (readonly [from: number, to: number])[];
  #isSaved: boolean;

  private constructor(path: string, kept: Kept, isSaved: boolean) {
    this.#path = path;
    this.#since = kept.since;
    this.#upTo = kept.up_to;
    this.#gaps = [...kept.gaps];
    this.#isSaved = isSaved;
  }

  /** @param size entries in the audit log now: where an archive that is new begins */
  static async open(folder: string, size: number): Promise<Position> {
    const path = join(folder, ".position.json");
    const text = await readWholeFile(path);
    const kept = text === undefined ? undefined : keptIn(text);
    if (kept === undefined) return new Position(path, { since: size, up_to: size, gaps: [] }, false);
    if (kept.up_to <= size) return new Position(path, kept, true);
    return new Position(path, { since: 0, up_to: 0, gaps: [] }, false); // another log, from its beginning
  }

  get upTo(): number {
    return this.#upTo;
  }

  advance(upTo: number): void {
    if (upTo <= this.#upTo) return;
    this.#upTo = upTo;
    this.#isSaved = false;
  }

  leaveOut(to: number): void {
    this.#gaps.push([this.#upTo, to]);
    this.advance(to);
  }

  /** Whether the entry must have its lines. */
  covers(seq: number): boolean {
    return seq >= this.#since && seq < this.#upTo && !this.#gaps.some(([from, to]) => seq >= from && seq < to);
  }

  /** Entries that nobody makes up. */
  get leftOut(): number {
    return this.#gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  }

  async save(): Promise<void> {
    if (this.#isSaved) return;
    const kept: Kept = { since: this.#since, up_to: this.#upTo, gaps: this.#gaps };
    this.#isSaved = true;
    await writeWholeFile(this.#path, `${JSON.stringify(kept)}\n`).catch((error: unknown) => {
      this.#isSaved = false;
      throw error;
    });
  }
}

function keptIn(text: string): Kept | undefined {
  try {
    const { since, up_to, gaps }: Partial<Kept> = JSON.parse(text);
    const isOurs = Number.isSafeInteger(since) && Number.isSafeInteger(up_to) && Array.isArray(gaps);
    return isOurs ? { since: since ?? 0, up_to: up_to ?? 0, gaps } : undefined;
  } catch {
    return undefined; // the archive begins anew; what was written stays
  }
}

import { appendFile, open, readFile } from "node:fs/promises";

/**
 * Checkpoints outside the database, one signed note a line as a JSON string. Who cuts off the table and its
 * checkpoints does not reach them, above all when the file is on another disk or append-only (`chattr +a`).
 */
export class AnchorFile {
  readonly path: string;
  #mended = false;
  /** Notes that could not be written; the next one takes them along. */
  readonly #owed: string[] = [];

  constructor(path: string) {
    this.path = path;
  }

  async append(note: string): Promise<void> {
    this.#owed.push(note);
    const lines = this.#owed.map((owed) => `${JSON.stringify(owed)}\n`).join("");
    const torn = !this.#mended && (await this.#isTorn());
    await appendFile(this.path, torn ? `\n${lines}` : lines, { mode: 0o600 });
    this.#owed.length = 0;
    this.#mended = true;
  }

  /** All notes. A line that is none was torn by a power cut: it says nothing. */
  async notes(): Promise<readonly string[]> {
    const text = await this.#text();
    return text.split("\n").flatMap((line) => {
      const note = noteOf(line);
      return note === undefined ? [] : [note];
    });
  }

  /** The most entries a note says it signs; nothing is checked. */
  async signedSize(): Promise<number> {
    let most = 0;
    for (const note of await this.notes()) {
      const size = Number(note.split("\n")[1]);
      if (Number.isSafeInteger(size)) most = Math.max(most, size);
    }
    return most;
  }

  /** A power cut may leave half a line; the next one must not be added to it. */
  async #isTorn(): Promise<boolean> {
    try {
      await using file = await open(this.path, "r");
      const { size } = await file.stat();
      if (size === 0) return false;
      const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
      return buffer.toString() !== "\n";
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  async #text(): Promise<string> {
    try {
      return await readFile(this.path, "utf8");
    } catch (error) {
      if (isAbsent(error)) return "";
      throw error;
    }
  }
}

function noteOf(line: string): string | undefined {
  try {
    const note: unknown = JSON.parse(line);
    return typeof note === "string" ? note : undefined;
  } catch {
    return undefined; // half a line
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT"; // only the system fails in these two
}

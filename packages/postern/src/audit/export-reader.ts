/**
 * An exported log. Its lines:
 *
 * - first `#postern-audit 1 <public key>`;
 * - an entry a line, its body as stored (JSON, so it begins with `{`), or `#erased <its digest>`;
 * - `#checkpoint <the signed note as a JSON string>` right after the last entry it signs;
 * - last `#end <number of entries>`, where the last checkpoint signs all of them.
 */
import { counted } from "@postern/core";
import type { Broken, Verification } from "./log.ts";
import { openCheckpoint, type VerifierKey } from "./note.ts";
import type { Recount } from "./recount.ts";

/** Reads an exported log line by line. Returns undefined if nothing is wrong. */
export class ExportReader {
  readonly #recount: Recount;
  readonly #key: VerifierKey;
  #lastCheckpoint = -1;
  #ended = false;

  constructor(recount: Recount, key: VerifierKey) {
    this.#recount = recount;
    this.#key = key;
  }

  read(line: string): Broken | undefined {
    if (this.#ended) return this.#recount.broken("Something follows the last line.", this.#recount.size);
    if (line.startsWith("{") || line.startsWith("#erased ")) return this.#recount.add(line);
    if (line.startsWith("#checkpoint ")) return this.#checkpoint(line.slice(12));
    if (line.startsWith("#end ")) return this.#last(line.slice(5));
    return this.#recount.broken(`After entry ${this.#recount.size - 1} comes a line that no log has.`);
  }

  end(): Verification {
    if (this.#ended) return this.#recount.end();
    const { size } = this.#recount;
    return this.#recount.broken("The last line is missing: the file was cut off.", size);
  }

  #checkpoint(json: string): Broken | undefined {
    const note = jsonText(json);
    const checkpoint = note === undefined ? undefined : openCheckpoint(note, this.#key);
    if (checkpoint === undefined) {
      return this.#recount.broken(
        `The checkpoint after entry ${this.#recount.size - 1} is not signed by this log's key.`,
      );
    }
    if (checkpoint.size <= this.#lastCheckpoint) {
      return this.#recount.broken(
        `The checkpoint over ${counted(checkpoint.size, "entry", "entries")} is there twice.`,
      );
    }
    this.#lastCheckpoint = checkpoint.size;
    return this.#recount.checkpoint(checkpoint);
  }

  #last(count: string): Broken | undefined {
    const { size } = this.#recount;
    if (count !== String(size)) {
      return this.#recount.broken(`The last line counts ${count.slice(0, 20)} entries; there are ${size}.`);
    }
    if (this.#lastCheckpoint !== size) {
      return this.#recount.broken(`No checkpoint signs the entries from ${this.#recount.verifiedSize} on.`);
    }
    this.#ended = true;
    return undefined;
  }
}

/** Returns undefined for a JSON string in any other form than `JSON.stringify` gives. */
function jsonText(json: string): string | undefined {
  try {
    const text: unknown = JSON.parse(json);
    return typeof text === "string" && JSON.stringify(text) === json ? text : undefined;
  } catch {
    return undefined; // the caller says where it is damaged
  }
}

import { messageOf } from "../core/fault.ts";
import { counted } from "../core/shown.ts";
import type { Store } from "../store/store.ts";
import { type AnchorFile, sizeOf } from "./anchor-file.ts";
import type { Witness } from "./witness.ts";

/** What is stored about the log outside its store: the anchor file and the witness. */
export class OutsideCopies {
  readonly #anchors: AnchorFile | undefined;
  readonly #witness: Witness | undefined;
  readonly #log: (problem: string) => void;
  /** What the witness showed when this process opened the log, before it signed anything itself. */
  #problem: string | undefined;
  /** The witness's note at that time. Later notes of this process replace it there. */
  #opened: string | undefined;
  /** The log was cut off or rewritten: a new note must not replace the one that shows it. */
  #mustStay = false;
  #waiting: string | undefined;
  #sending: Promise<void> | undefined;

  constructor(anchors: AnchorFile | undefined, witness: Witness | undefined, log: (problem: string) => void) {
    this.#anchors = anchors;
    this.#witness = witness;
    this.#log = log;
  }

  /** @param last the last checkpoint in the store: a crash may have come before it was anchored */
  async open(
    { size, head }: { readonly size: number; readonly head: string },
    last: string | undefined,
  ): Promise<void> {
    if (last !== undefined) await this.#anchorAgain(last);
    const anchored = Math.max(0, ...((await this.#anchors?.notes()) ?? []).map(sizeOf));
    if (anchored > size) this.#log(cutOff("A checkpoint kept outside the store", anchored, size));
    const { note, problem } = await this.#witnessed();
    if (problem !== undefined) this.#log(problem);
    if (note === undefined) return;
    this.#opened = note;
    const witnessed = sizeOf(note);
    const isRewritten = witnessed === size && rootOf(note) !== head;
    this.#mustStay = isRewritten || witnessed > size;
    if (isRewritten)
      this.#log(
        `The witness's note signs another history of ${counted(size, "entry", "entries")}: the audit log was rewritten.`,
      );
    if (witnessed > size) this.#log(cutOff("The witness's note", witnessed, size));
    if (witnessed >= size) return;
    this.#problem = `The log had ${counted(size, "entry", "entries")} when it was opened, but the witness's note signs ${witnessed}: a crash came before the others were signed, or someone else wrote them. Look at the entries from ${witnessed} on.`;
    this.#log(this.#problem);
  }

  /** Resolves when the anchor file has the note. The witness gets it in the background. */
  async keep(note: string): Promise<void> {
    try {
      await this.#anchors?.append(note);
    } catch (error) {
      this.#log(`The anchor file could not be written: ${messageOf(error)}`);
    }
    if (this.#witness === undefined || this.#mustStay) return;
    this.#waiting = note;
    this.#sending ??= this.#send(this.#witness);
  }

  /** Notes to compare the log with. Throws if the anchor file cannot be read. */
  async *notes(): AsyncGenerator<string> {
    yield* (await this.#anchors?.notes()) ?? [];
    if (this.#opened !== undefined) yield this.#opened;
    const { note } = await this.#witnessed();
    if (note !== undefined) yield note;
  }

  /** What is missing or wrong outside. The log itself may still be intact. */
  async problems(store: Pick<Store, "documents">): Promise<readonly string[]> {
    const { problem } = await this.#witnessed();
    return [this.#problem, problem, await this.#unanchored(store)].filter((one) => one !== undefined);
  }

  /** Resolves when the witness was given every note. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sending;
  }

  async #witnessed(): Promise<{ readonly note?: string | undefined; readonly problem?: string }> {
    try {
      return { note: await this.#witness?.latest() };
    } catch (error) {
      return { problem: `The witness of the audit log cannot be read: ${messageOf(error)}` };
    }
  }

  async #send(witness: Witness): Promise<void> {
    for (let note = this.#waiting; note !== undefined; note = this.#waiting) {
      this.#waiting = undefined;
      await witness.put(note).catch((error: unknown) => {
        this.#log(`The witness of the audit log did not take a note: ${messageOf(error)}`);
      });
    }
    this.#sending = undefined;
  }

  async #anchorAgain(note: string): Promise<void> {
    const anchored = (await this.#anchors?.notes().catch(() => [])) ?? [];
    // An empty file is not filled: `verify` must find that its checkpoints are missing.
    if (anchored.length > 0 && !anchored.includes(note)) await this.#anchors?.append(note);
  }

  /** Each checkpoint of the store was anchored when it was made, so a missing one was removed from the file. */
  async #unanchored(store: Pick<Store, "documents">): Promise<string | undefined> {
    if (this.#anchors === undefined) return undefined;
    const sizes = (await store.documents.list("checkpoint", "")).map(Number);
    const anchored = new Set((await this.#anchors.notes()).map(sizeOf));
    const missing = sizes.filter((size) => !anchored.has(size)).length;
    if (missing === 0) return undefined;
    const what = anchored.size === 0 ? "is missing, empty or unreadable" : "was shortened or changed";
    return `\`${this.#anchors.path}\` ${what}: ${missing} of ${sizes.length} checkpoints are not in it. Restore it from a copy, and verify against a note kept elsewhere.`;
  }
}

/** 64 hex digits. */
function rootOf(note: string): string {
  return Buffer.from(note.split("\n")[2] ?? "", "base64").toString("hex");
}

function cutOff(what: string, signed: number, left: number): string {
  return `${what} signs ${counted(signed, "entry", "entries")}, but only ${left} are left: the audit log was cut off.`;
}

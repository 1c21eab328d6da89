import { counted, messageOf } from "@postern/core";
import { sizeOf } from "./anchor-file.ts";
import type { Anchors } from "./anchors.ts";
import type { Witness } from "./witness.ts";

export interface OutsideCopiesOptions {
  readonly anchors: Anchors | undefined;
  readonly witness: Witness | undefined;
  readonly log: (problem: string) => void;
  /** What others found: that entries are missing which were in the log. */
  readonly losses: () => readonly string[];
}

/** What is stored about the log outside its store: the anchor file and the witness. */
export class OutsideCopies {
  readonly #anchors: Anchors | undefined;
  readonly #witness: Witness | undefined;
  readonly #log: (problem: string) => void;
  readonly #losses: () => readonly string[];
  /** What the witness showed when this process opened the log, before it signed anything itself. */
  #problem: string | undefined;
  /** The witness's note at that time. Later notes of this process replace it there. */
  #opened: string | undefined;
  /** The log was cut off or rewritten: a new note must not replace the one that shows it. */
  #mustStay = false;
  #waiting: string | undefined;
  #sending: Promise<void> | undefined;

  constructor({ anchors, witness, log, losses }: OutsideCopiesOptions) {
    this.#anchors = anchors;
    this.#witness = witness;
    this.#log = log;
    this.#losses = losses;
  }

  async open({ size, head }: { readonly size: number; readonly head: string }): Promise<void> {
    await this.#anchors?.complete();
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
    await this.#anchors?.keep([note], sizeOf(note));
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
  async problems(): Promise<readonly string[]> {
    const { problem } = await this.#witnessed();
    const unanchored = await this.#anchors?.problem();
    return [...this.#losses(), this.#problem, problem, unanchored].filter((one) => one !== undefined);
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
}

/** 64 hex digits. */
function rootOf(note: string): string {
  return Buffer.from(note.split("\n")[2] ?? "", "base64").toString("hex");
}

function cutOff(what: string, signed: number, left: number): string {
  return `${what} signs ${counted(signed, "entry", "entries")}, but only ${left} are left: the audit log was cut off.`;
}

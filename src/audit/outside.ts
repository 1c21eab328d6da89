import { messageOf } from "../core/fault.ts";
import { counted } from "../core/shown.ts";
import type { Store } from "../store/store.ts";
import type { AnchorFile } from "./anchor-file.ts";
import { heldBy, sizeOf, type Witness } from "./witness.ts";

/** Everything about the log that is kept outside its store: the anchor file and the witness. */
export class Outside {
  readonly #anchors: AnchorFile | undefined;
  readonly #witness: Witness | undefined;
  readonly #log: (problem: string) => void;
  /** What the witness showed when this process opened the log, before it signed anything itself. */
  #problem: string | undefined;
  /** The witness's note of that moment: later ones of this process replace it there. */
  #opened: string | undefined;
  /** The log was cut off or rewritten: its notes must not replace the one that shows it. */
  #keepsWitness = false;
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
    const anchored = (await this.#anchors?.signedSize()) ?? 0;
    if (anchored > size) this.#log(cutOff("A checkpoint kept outside the store", anchored, size));
    if (this.#witness === undefined) return;
    const held = await heldBy(this.#witness);
    if ("problem" in held) return this.#log(held.problem);
    this.#opened = held.note;
    const witnessed = held.note === undefined ? 0 : sizeOf(held.note);
    if (witnessed === size && held.note !== undefined && rootOf(held.note) !== head) {
      this.#log(
        `The witness's note signs another history of ${counted(size, "entry", "entries")}: the audit log was rewritten.`,
      );
      this.#keepsWitness = true;
    }
    if (witnessed > size) {
      this.#log(cutOff("The witness's note", witnessed, size));
      this.#keepsWitness = true;
    }
    if (witnessed < size && held.note !== undefined) {
      this.#problem = `The log had ${counted(size, "entry", "entries")} when it was opened, but the witness's note signs ${witnessed}: a crash came before the others were signed, or someone else wrote them. Look at the entries from ${witnessed} on.`;
      this.#log(this.#problem);
    }
  }

  /** Resolves when the anchor file has it; the witness gets it in the background. */
  async keep(note: string): Promise<void> {
    try {
      await this.#anchors?.append(note);
    } catch (error) {
      this.#log(`The anchor file could not be written: ${messageOf(error)}`);
    }
    if (this.#witness === undefined || this.#keepsWitness) return;
    this.#waiting = note;
    this.#sending ??= this.#send(this.#witness);
  }

  /** Notes to hold the log against. Throws when the anchor file cannot be read. */
  async *notes(): AsyncGenerator<string> {
    yield* (await this.#anchors?.notes()) ?? [];
    if (this.#opened !== undefined) yield this.#opened;
    const held = this.#witness && (await heldBy(this.#witness));
    if (held !== undefined && "note" in held && held.note !== undefined) yield held.note;
  }

  /** What is missing or strange outside, although the log itself may be whole. */
  async problems(store: Pick<Store, "documents">): Promise<readonly string[]> {
    const held = this.#witness && (await heldBy(this.#witness));
    const unread = held !== undefined && "problem" in held ? held.problem : undefined;
    return [this.#problem, unread, await this.#unanchored(store)].filter((problem) => problem !== undefined);
  }

  /** Every note was given to the witness. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sending;
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
    const anchors = this.#anchors;
    const kept = (await anchors?.notes().catch(() => [])) ?? [];
    // An empty file is not filled: that checkpoints are missing in it is what `verify` must find.
    if (kept.length > 0 && !kept.includes(note)) await anchors?.append(note);
  }

  /** Each checkpoint of the store was anchored when it was made, so one that is not there was taken away. */
  async #unanchored(store: Pick<Store, "documents">): Promise<string | undefined> {
    if (this.#anchors === undefined) return undefined;
    const sizes = (await store.documents.list("checkpoint", "")).map(Number);
    const kept = new Set((await this.#anchors.notes()).map(sizeOf));
    const missing = sizes.filter((size) => !kept.has(size)).length;
    if (missing === 0) return undefined;
    const what = kept.size === 0 ? "is missing, empty or unreadable" : "was shortened or changed";
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

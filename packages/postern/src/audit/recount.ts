/**
 * The verifier's own arithmetic: hashes the entries again and compares them with everything that was signed.
 * It shares no code with tree.ts, so one mistake cannot be in both.
 */

import { createHash } from "node:crypto";
import { counted, messageOf, storedEventIn } from "@postern/core";
import { isDamage } from "@postern/core/system";
import type { Broken, Verification } from "./log.ts";
import { type Checkpoint, isErasure, type VerifierKey } from "./note.ts";

const erasedEntry = /^#erased ([0-9a-f]{64})$/;
const erasureType = '"type":"runtime.entries_erased"';

interface Peak {
  readonly leaves: number;
  readonly digest: Buffer;
}

/** Counts entries in their order. Methods return undefined if nothing is wrong. */
export class Recount {
  #size = 0;
  #verifiedSize = 0;
  #claimedSize = 0;
  #checkpoints = 0;
  /** Perfect trees from left to right, each smaller than the one before it. */
  readonly #peaks: Peak[] = [];
  /** Roots by size that were signed and stored elsewhere. */
  readonly #claims = new Map<number, Set<string>>();
  /** Roots by size that checkpoints of the log sign. */
  readonly #roots = new Map<number, string>();
  readonly #key: VerifierKey | undefined;
  #erased = 0;
  /** Places of erased entries, in order, of which no entry so far proves that they were erased. */
  readonly #unexplained = new Set<number>();

  /** @param key signed which entries are erased. Without it, none may be */
  constructor(key?: VerifierKey) {
    this.#key = key;
  }

  /** Whether an entry that was read is erased, and the entry that says so is still to come. */
  get isUnexplained(): boolean {
    return this.#unexplained.size > 0;
  }

  get size(): number {
    return this.#size;
  }

  /** The most entries that a checkpoint stored elsewhere signs. */
  get claimedSize(): number {
    return this.#claimedSize;
  }

  /** Entries up to the last checkpoint that was checked. */
  get verifiedSize(): number {
    return this.#verifiedSize;
  }

  /** Adds a checkpoint that was stored elsewhere. It is compared when the number of entries reaches its size. */
  claim({ size, root }: Checkpoint): void {
    if (size > this.#claimedSize) this.#claimedSize = size;
    const roots = this.#claims.get(size) ?? new Set();
    this.#claims.set(size, roots.add(root));
  }

  add(body: string): Broken | undefined {
    const kept = body.startsWith("#") ? erasedEntry.exec(body)?.[1] : undefined;
    if (kept === undefined) {
      this.#push({ leaves: 1, digest: digestOf(Buffer.of(0), Buffer.from(body)) });
      if (body.includes(erasureType)) this.#explain(body);
    } else {
      this.#push({ leaves: 1, digest: Buffer.from(kept, "hex") });
      this.#erased += 1;
      this.#unexplained.add(this.#size);
    }
    this.#size += 1;
    return this.#claimsHold();
  }

  /** A checkpoint of the log, at this place. */
  checkpoint({ size, root }: Checkpoint): Broken | undefined {
    if (size !== this.#size) return this.broken(this.#miscounted(size));
    if (root !== this.root()) return this.broken(this.#differs(size));
    this.#verifiedSize = size;
    this.#roots.set(size, root);
    this.#checkpoints += 1;
    return undefined;
  }

  /** Ends the count: every signed size must have been reached. */
  end(): Verification {
    for (const size of [...this.#claims.keys()].sort((one, other) => one - other)) {
      if (size > this.#size) {
        return this.broken(
          `A checkpoint kept elsewhere signs ${counted(size, "entry", "entries")}, but only ${this.#size} are left: the log was cut off.`,
          this.#size,
        );
      }
    }
    const [unexplained] = this.#unexplained;
    if (unexplained !== undefined)
      return this.broken(
        `Entry ${unexplained} was erased, and no later entry proves that retention did it.`,
        unexplained,
      );
    const emptyHolds = this.#size > 0 ? undefined : this.#claimsHold();
    if (emptyHolds !== undefined) return emptyHolds;
    const unsigned = this.#size - this.#verifiedSize;
    return {
      intact: true,
      events: this.#size,
      head: this.root(),
      checkpoints: this.#checkpoints,
      ...(unsigned > 0 && { unsigned }),
      ...(this.#erased > 0 && { erased: this.#erased }),
    };
  }

  /** @param first the first entry that cannot be trusted. Default: the first after the last good checkpoint */
  broken(why: string, first: number = this.#verifiedSize): Broken {
    return { intact: false, events: this.#size, firstBroken: first, why };
  }

  /** The next entry, or a checkpoint over it, could not be read. */
  unread(error: unknown): Broken {
    const unreadable = isDamage(error) ? "damaged" : "failing";
    return { ...this.broken(messageOf(error), this.#size), unreadable };
  }

  /** Over everything counted so far, 64 hex digits. */
  root(): string {
    const digest = this.#peaks
      .map((peak) => peak.digest)
      .reduceRight<Buffer | undefined>(
        (right, left) => (right === undefined ? left : digestOf(Buffer.of(1), left, right)),
        undefined,
      );
    return (digest ?? digestOf()).toString("hex");
  }

  #push(peak: Peak): void {
    let grown = peak;
    for (let last = this.#peaks.at(-1); last?.leaves === grown.leaves; last = this.#peaks.at(-1)) {
      this.#peaks.pop();
      grown = { leaves: grown.leaves * 2, digest: digestOf(Buffer.of(1), last.digest, grown.digest) };
    }
    this.#peaks.push(grown);
  }

  /** An entry names places that were erased. It counts if the log's key signed them, in this history. */
  #explain(body: string): void {
    const { type, data } = storedEventIn(body) ?? {};
    if (type !== "runtime.entries_erased" || this.#key === undefined) return;
    const { checkpoint: size, places, signature } = Object(data) as Readonly<Record<string, unknown>>;
    if (typeof size !== "number" || typeof places !== "string" || typeof signature !== "string") return;
    const root = this.#roots.get(size);
    if (root === undefined || !isErasure({ size, root, places }, signature, this.#key)) return;
    for (const range of places.split(",")) {
      const [first = 0, last = first] = range.split("-").map(Number);
      for (let place = first; place <= last && place < size; place += 1) this.#unexplained.delete(place);
    }
  }

  #claimsHold(): Broken | undefined {
    const roots = this.#claims.get(this.#size);
    if (roots === undefined) return undefined;
    const root = this.root();
    for (const claimed of roots) {
      if (claimed !== root) {
        return this.broken(`${this.#differs(this.#size)} (That checkpoint was kept elsewhere.)`);
      }
    }
    this.#verifiedSize = this.#size;
    return undefined;
  }

  /** For a checkpoint that does not follow as many entries as it signs: where entries were lost or added. */
  #miscounted(size: number): string {
    const from = this.#verifiedSize;
    const wrong = Math.abs(size - this.#size);
    const until = Math.max(size, this.#size) - 1;
    const where = `the checkpoint over ${counted(size, "entry", "entries")} stands after ${this.#size}.`;
    if (size < from) return `A checkpoint over ${counted(size, "entry", "entries")} stands after one over ${from}.`;
    if (size < this.#size) return `${wrong} of the entries ${from} to ${until} ${are(wrong)} too many: ${where}`;
    if (until === from) return `Entry ${from} is missing: ${where}`;
    if (from === this.#size) return `Entries ${from} to ${until} are missing: ${where}`;
    return `${wrong} of the entries ${from} to ${until} ${are(wrong)} missing: ${where}`;
  }

  #differs(size: number): string {
    return `Something in entries ${this.#verifiedSize} to ${size - 1} is not what the checkpoint over ${counted(size, "entry", "entries")} signed.`;
  }
}

function are(count: number): string {
  return count === 1 ? "is" : "are";
}

function digestOf(...parts: readonly Buffer[]): Buffer {
  const sum = createHash("sha256");
  for (const part of parts) sum.update(part);
  return sum.digest();
}

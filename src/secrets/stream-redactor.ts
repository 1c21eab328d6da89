import { lineContext } from "./joined-lines.ts";
import { type ExactRedactor, mask } from "./redactor.ts";

/** A redactor for text that comes in pieces. What it gives out, joined, is clean also where two pieces met. */
export interface StreamRedactor {
  /** As much of what came so far as can be judged; the rest follows. */
  write(chunk: string): string;
  /** What was held back. The stream is over. */
  end(): string;
}

/** Holds back as much as a known value could still reach into, and no more: memory does not grow with the stream. */
export function createStreamRedactor(redactor: ExactRedactor): StreamRedactor {
  return new ChunkRedactor(redactor);
}

class ChunkRedactor implements StreamRedactor {
  readonly #redactor: ExactRedactor;
  /** What cannot be given yet, and before it a little that was: whether a line is wrapped shows only to its left. */
  #held = "";
  /** So much of `#held` is out, as it was or masked. */
  #given = 0;
  /** Up to here the mask that was given last reaches; before `#held` when it is long past. */
  #maskedTo = -1;

  constructor(redactor: ExactRedactor) {
    this.#redactor = redactor;
  }

  write(chunk: string): string {
    this.#held += chunk;
    const until = this.#held.length - this.#redactor.reach;
    return until > this.#given ? this.#give(until) : "";
  }

  end(): string {
    return this.#give(this.#held.length);
  }

  #give(until: number): string {
    let clean = "";
    for (const { start, end } of this.#redactor.find(this.#held)) {
      if (end <= this.#given) continue;
      if (start >= until) break;
      if (start > this.#maskedTo) clean += this.#held.slice(this.#given, start) + mask;
      this.#maskedTo = end;
      this.#given = end;
    }
    if (this.#given < until) {
      clean += this.#held.slice(this.#given, until);
      this.#given = until;
    }
    const past = Math.max(0, until - lineContext);
    this.#held = this.#held.slice(past);
    this.#given -= past;
    this.#maskedTo -= past;
    return clean;
  }
}

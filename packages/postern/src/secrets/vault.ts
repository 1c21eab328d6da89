import { learnAhead } from "./lend.ts";
import { type Entries, openSealed, type SealedPlace, stampOf } from "./sealed-file.ts";
import type { Redactor } from "./secret-store.ts";

/** The sealed file in this process. It is read on first use, and again when it was replaced. */
export class Vault {
  readonly #place: SealedPlace;
  readonly #redactor: Redactor | undefined;
  #entries: Entries = new Map();
  /** The stamp of the file that the entries come from. Undefined when there was none. */
  #stamp: string | undefined;
  #reading: Promise<Entries> | undefined;

  constructor(place: SealedPlace, redactor: Redactor | undefined) {
    this.#place = place;
    this.#redactor = redactor;
  }

  /** The entries of the file now. Requests at the same time read it once. */
  async current(): Promise<Entries> {
    if ((await stampOf(this.#place.file)) === this.#stamp) return this.#entries;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<Entries> {
    const opened = await openSealed(this.#place);
    const entries = opened?.entries ?? new Map<string, string>();
    learnAhead(this.#redactor, [...entries.values(), opened?.key.text ?? ""]);
    this.#entries = entries;
    this.#stamp = opened?.stamp;
    return entries;
  }
}

import { type CallRecord, storedEventIn } from "@postern/core";
import type { Store, StoreEntry } from "../store/store.ts";

/** So many calls of other processes are noted; after more of them, everything is read again. */
const mostNoted = 10_000;

/**
 * The calls that other processes of a shared store begin and end, as the log tells of them. They are read when they are
 * asked for.
 */
export class OthersCalls {
  readonly #store: Pick<Store, "call">;
  /** The last entry that was heard. */
  #heard = -1;
  /** Keys of calls that were begun or ended since the last reading. */
  #noted = new Set<string>();
  #isTooMany = false;
  /** The key of a call that is open, by the arrival that began it, if they differ. */
  readonly #keys = new Map<string, string>();

  constructor(store: Pick<Store, "call" | "follow">) {
    this.#store = store;
    store.follow((entries) => this.#hear(entries));
  }

  /** The store knows that entries up to this one were given to the followers. */
  hearTo(seq: number): void {
    this.#heard = Math.max(this.#heard, seq);
  }

  /**
   * The rows that changed, and the entry up to which that is all.
   *
   * @returns `rows` is undefined when too many changed: read everything again
   */
  async changed(): Promise<{ readonly upTo: number; readonly rows: readonly CallRecord[] | undefined }> {
    const upTo = this.#heard;
    const noted = this.#noted;
    const isTooMany = this.#isTooMany;
    this.#noted = new Set();
    this.#isTooMany = false;
    if (isTooMany) return { upTo, rows: undefined };
    const rows: CallRecord[] = [];
    try {
      for (const key of noted) {
        const row = await this.#store.call({ key });
        if (row !== undefined) rows.push(row);
      }
    } catch (error) {
      this.#isTooMany = true; // what was taken here is lost
      throw error;
    }
    return { upTo, rows };
  }

  #hear(entries: readonly StoreEntry[]): void {
    for (const { seq, body, event } of entries) {
      this.#heard = seq;
      if (event === undefined && body.includes('"type":"tool_call.')) this.#note(body);
    }
  }

  #note(body: string): void {
    const { type, refs } = storedEventIn(body) ?? {};
    const { tool_call: id, key: other } = Object(refs) as { readonly tool_call?: unknown; readonly key?: unknown };
    if (typeof id !== "string") return;
    const begins = type === "tool_call.attempted";
    const key = typeof other === "string" ? other : (this.#keys.get(id) ?? id);
    if (begins && key !== id) this.#keys.set(id, key);
    else if (!begins) this.#keys.delete(id);
    if (this.#noted.size < mostNoted) this.#noted.add(key);
    else this.#isTooMany = true;
  }
}

import { type Clock, messageOf } from "@postern/core";
import type { EntryFilter, Store, StoreEntry } from "../store/store.ts";
import type { Broken, Verification } from "./log.ts";

/**
 * Whether the log is verified in the background, and how fast.
 *
 * @public
 */
export interface RecheckSettings {
  /** Default: true when the store is a file, which others can reach. */
  readonly enabled?: boolean | undefined;
  /** Default 500. */
  readonly entriesPerSecond?: number | undefined;
}

export interface RecheckPace {
  readonly entriesPerSecond: number;
}

export interface RecheckOptions extends RecheckPace {
  readonly store: Pick<Store, "events" | "documents" | "broken">;
  readonly clock: Clock;
  /** The verifier, over a store that returns its entries slowly. */
  readonly verify: (slowStore: Pick<Store, "events" | "documents">) => Promise<Verification>;
  readonly checked: (found: Verification) => void;
  /** Gets every finding, also a repeated one. An unreadable log that another try may read counts after the third try. */
  readonly altered: (found: Broken) => void;
  readonly log: (problem: string) => void;
}

/** Slices of two milliseconds have no room for more. */
export const mostPerSecond = 10_000;
const sliceEveryMs = 200;
/** A slice ends after this time, however little it read: a signature costs as much as thirty entries. */
const sliceMs = 2;
const restMs = 60_000;
/** A disk may fail once. */
const reportedFailures = 3;

/**
 * Verifies the log again and again while it is in use, a slice at a time, with a pause of a minute between two
 * verifications. It finds an entry that is altered while Postern runs.
 *
 * Invariant: no slice blocks the event loop longer than a few milliseconds, and it does not keep the process alive.
 */
export class Recheck implements AsyncDisposable {
  readonly #options: RecheckOptions;
  readonly #sliceEntries: number;
  #cancel: (() => void) | undefined;
  #continue: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();
  #over = false;
  /** How often in a row the log could not be read. */
  #failures = 0;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#sliceEntries = Math.max(1, Math.ceil((options.entriesPerSecond * sliceEveryMs) / 1000));
    this.#rest();
  }

  /** Stops a verification that is running. Runs before the store closes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    this.#cancel?.();
    this.#continue?.();
    await this.#running;
  }

  #rest(): void {
    const begin = (): void => {
      this.#running = this.#check();
    };
    this.#cancel = this.#options.clock.in(restMs, begin, false);
  }

  async #check(): Promise<void> {
    const { store, verify, log } = this.#options;
    try {
      const found = await verify({ documents: store.documents, events: (where) => this.#slices(where) });
      if (this.#over) return; // it was stopped before the end
      this.#report(found);
    } catch (error) {
      log(`The audit log could not be checked: ${messageOf(error)}`);
    }
    if (!this.#over) this.#rest();
  }

  #report(found: Verification): void {
    const { store, checked, altered, log } = this.#options;
    const failure = found.intact ? undefined : found.unreadable;
    if (failure !== undefined && store.broken !== undefined) return; // the store itself reports that it stopped
    checked(found);
    this.#failures = failure === "failing" ? this.#failures + 1 : 0;
    if (found.intact) return;
    if (failure === "failing") log(`The audit log could not be checked: ${found.why}`);
    if (failure !== "failing" || this.#failures >= reportedFailures) altered(found);
  }

  async *#slices({ after, fresh = false }: EntryFilter): AsyncGenerator<StoreEntry> {
    const { store, clock } = this.#options;
    const limit = this.#sliceEntries;
    for (let last = after; !this.#over; await this.#pause()) {
      const began = clock.monotonic();
      const before = last;
      for await (const entry of store.events({ after: last, limit, fresh: fresh && last === after })) {
        if (this.#over) return;
        last = entry.seq;
        yield entry;
        if (clock.monotonic() - began > sliceMs) break;
      }
      if (last === before) return;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#continue = resolve;
      this.#cancel = this.#options.clock.in(sliceEveryMs, resolve, false);
    });
  }
}

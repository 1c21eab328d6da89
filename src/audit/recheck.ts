import type { Clock } from "../core/clock.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
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

/** @throws RuntimeFault `options_invalid` */
export function paceOf(said: RecheckSettings, isFile: boolean): RecheckPace | undefined {
  const { enabled = isFile, entriesPerSecond = 500 } = said;
  if (!(Number.isSafeInteger(entriesPerSecond) && entriesPerSecond > 0 && entriesPerSecond <= mostPerSecond)) {
    const wanted = `a whole number from 1 to ${mostPerSecond}`;
    throw new RuntimeFault(
      "options_invalid",
      `\`audit.recheck.entriesPerSecond\` is ${String(entriesPerSecond)}; it must be ${wanted}.`,
    );
  }
  return enabled ? { entriesPerSecond } : undefined;
}

export interface RecheckOptions extends RecheckPace {
  readonly store: Pick<Store, "events" | "documents" | "broken">;
  readonly clock: Clock;
  /** The verifier, over a store that gives its entries slowly. */
  readonly verify: (slowly: Pick<Store, "events" | "documents">) => Promise<Verification>;
  readonly checked: (found: Verification) => void;
  /** Told after each time something was found, also when it is the same; of a log that may be read at another try after the third. */
  readonly altered: (found: Broken) => void;
  readonly log: (problem: string) => void;
}

/** More than fits into slices of two milliseconds. */
const mostPerSecond = 10_000;
const sliceEveryMs = 200;
/** A slice ends after so long, whatever it had to read: a signature costs as much as thirty entries. */
const sliceMs = 2;
const restMs = 60_000;
/** A disk may fail once. */
const failuresTold = 3;

/**
 * Has the log verified again and again while it is in use, a slice at a time: what is altered under a running Postern is
 * found though nobody asks. Between two times it rests a minute.
 *
 * Invariant: no slice keeps the event loop longer than a few milliseconds, and the process does not live on for it.
 */
export class Recheck implements AsyncDisposable {
  readonly #options: RecheckOptions;
  readonly #sliceEntries: number;
  #cancel: (() => void) | undefined;
  #goOn: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();
  #over = false;
  /** How often in a row it could not be read. */
  #failures = 0;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#sliceEntries = Math.max(1, Math.ceil((options.entriesPerSecond * sliceEveryMs) / 1000));
    this.#rest();
  }

  /** What is under way is left off, before the store is closed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    this.#cancel?.();
    this.#goOn?.();
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
      if (this.#over) return; // it saw less than there is
      this.#tell(found);
    } catch (error) {
      log(`The audit log could not be checked: ${messageOf(error)}`);
    }
    if (!this.#over) this.#rest();
  }

  #tell(found: Verification): void {
    const { store, checked, altered, log } = this.#options;
    const failure = found.intact ? undefined : found.unreadable;
    if (failure !== undefined && store.broken !== undefined) return; // it has stopped, and says so itself
    checked(found);
    this.#failures = failure === "failing" ? this.#failures + 1 : 0;
    if (found.intact) return;
    if (failure === "failing") log(`The audit log could not be checked: ${found.why}`);
    if (failure !== "failing" || this.#failures >= failuresTold) altered(found);
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
      this.#goOn = resolve;
      this.#cancel = this.#options.clock.in(sliceEveryMs, resolve, false);
    });
  }
}

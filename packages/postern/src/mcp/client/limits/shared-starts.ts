import type { Clock } from "@postern/core";
import type { LiveCollection } from "../../../store/live-collection.ts";
import { minuteMs, type Starts } from "./own-starts.ts";

/** Starts that one gateway may make, or made, until a time. */
export interface StartBlock {
  readonly id: string;
  readonly count: number;
  /** Of its last start, at the latest: time of the store, milliseconds. */
  readonly until: number;
}

export interface StartBlocks {
  readonly blocks: readonly StartBlock[];
}

export interface SharedStartsOptions {
  /** The name of this gateway. */
  readonly id: string;
  readonly blocks: LiveCollection<StartBlocks>;
  readonly clock: Clock;
  /** The time of the store. */
  readonly time: Pick<Clock, "now">;
}

/** A gateway takes this part of the limit at a time, so the number of writes does not grow with the limit. */
const partsAMinute = 20;
/** It may use what it took so long. */
const usableMs = 5_000;
/** Then what is left goes back: later, because a timer may be early. */
const returnMs = 5_500;
/** The times of two gateways differ by parts of a second. */
const windowMs = minuteMs + 1_000;

interface OwnBlock {
  readonly id: string;
  /** Monotonic. */
  readonly usableUntil: number;
  readonly size: number;
  used: number;
  /** Time of the store. */
  lastAt: number;
}

/**
 * Starts within a minute over all gateways. The document of the server has the blocks of starts that gateways took.
 *
 * Invariant: the blocks whose last start may be within the window have no more starts than the limit. A block that is
 * lost with its gateway counts as used.
 */
export class SharedStarts implements Starts {
  readonly #server: string;
  readonly #perMinute: number;
  readonly #options: SharedStartsOptions;
  #own: OwnBlock | undefined;
  #taken = 0;
  #asking = 0;
  #taking: Promise<number | undefined> | undefined;
  #cancelReturn: (() => void) | undefined;

  constructor(server: string, perMinute: number, options: SharedStartsOptions) {
    this.#server = server;
    this.#perMinute = perMinute;
    this.#options = options;
  }

  fullUntil(): number | undefined {
    if (this.#hasStart) return undefined;
    return this.#fullUntil(this.#current(this.#options.blocks.at(this.#server)));
  }

  count(): number | undefined | Promise<number | undefined> {
    return this.#use() ? undefined : this.#ask();
  }

  async close(): Promise<void> {
    await this.#return();
  }

  get #hasStart(): boolean {
    const { clock } = this.#options;
    const own = this.#own;
    return own !== undefined && own.used < own.size && clock.monotonic() < own.usableUntil;
  }

  #use(): boolean {
    if (this.#own === undefined || !this.#hasStart) return false;
    this.#own.used += 1;
    this.#own.lastAt = this.#options.time.now();
    return true;
  }

  async #ask(): Promise<number | undefined> {
    this.#asking += 1;
    try {
      while (!this.#use()) {
        this.#taking ??= this.#take();
        const fullUntil = await this.#taking;
        if (fullUntil !== undefined && !this.#hasStart) return fullUntil;
      }
      return undefined;
    } finally {
      this.#asking -= 1;
    }
  }

  /** Returns when the next start is free, if none is free now. */
  async #take(): Promise<number | undefined> {
    const { blocks, clock, time, id } = this.#options;
    try {
      let fullUntil: number | undefined;
      let taken: OwnBlock | undefined;
      await blocks.change(this.#server, (found) => {
        const current = this.#current(found);
        fullUntil = this.#fullUntil(current);
        taken = undefined;
        if (fullUntil !== undefined) return undefined;
        const size = Math.min(this.#free(current), Math.max(this.#asking, Math.floor(this.#perMinute / partsAMinute)));
        const until = time.now() + usableMs;
        this.#taken += 1;
        const block = `${id} ${this.#taken}`;
        taken = { id: block, usableUntil: clock.monotonic() + usableMs, size, used: 0, lastAt: until };
        return { item: { blocks: [...current, { id: block, count: size, until }] } };
      });
      if (taken !== undefined) this.#begin(taken);
      return fullUntil;
    } finally {
      this.#taking = undefined;
    }
  }

  #begin(block: OwnBlock): void {
    this.#own = block;
    this.#cancelReturn?.();
    this.#cancelReturn = this.#options.clock.in(returnMs, () => void this.#return(), false);
  }

  /** Other gateways may use what is left of the block. */
  async #return(): Promise<void> {
    this.#cancelReturn?.();
    const own = this.#own;
    if (own === undefined || own.used === own.size) return;
    const change = this.#options.blocks.change(this.#server, (found) => ({ item: { blocks: this.#current(found) } }));
    await change.catch(() => undefined); // what is left counts as used
  }

  /** The blocks that count now, the own one with what was used of it. */
  #current(found: StartBlocks | undefined): readonly StartBlock[] {
    const since = this.#options.time.now() - windowMs;
    const own = this.#own;
    return (found?.blocks ?? [])
      .map((block) => (block.id === own?.id ? { ...block, count: own.used, until: own.lastAt } : block))
      .filter(({ count, until }) => count > 0 && until > since);
  }

  #free(current: readonly StartBlock[]): number {
    return this.#perMinute - current.reduce((sum, { count }) => sum + count, 0);
  }

  /** Wall clock of this machine, milliseconds. */
  #fullUntil(current: readonly StartBlock[]): number | undefined {
    if (this.#free(current) > 0) return undefined;
    const { clock, time } = this.#options;
    const first = Math.min(...current.map(({ until }) => until));
    return Math.ceil(clock.now() + first + windowMs - time.now());
  }
}

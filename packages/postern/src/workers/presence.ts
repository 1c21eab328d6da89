import type { Clock } from "@postern/core";
import { actionName, type Beat } from "./workers.ts";

/** A worker as the gateway knows it. */
export interface KnownWorker {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly limit: number;
  readonly running: number;
  readonly tools: readonly string[];
}

interface PresentWorker {
  readonly name: string;
  readonly beat: Beat;
  /** Monotonic milliseconds. */
  readonly seenAt: number;
}

/** Who is there, by the beats of the last lease. */
export class Presence {
  readonly #clock: Clock;
  readonly #leaseMs: number;
  readonly #workers = new Map<string, PresentWorker>();

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  /** Returns what the beat changed; `old` if a newer one was seen. */
  see(publicKey: string, name: string, beat: Beat): "joined" | "left" | "stays" | "old" {
    const before = this.#workers.get(publicKey);
    if (before !== undefined && before.beat.start === beat.start && before.beat.number >= beat.number) return "old";
    if (beat.leaving) return this.#workers.delete(publicKey) ? "left" : "stays"; // what it runs lives on
    this.#workers.set(publicKey, { name, beat, seenAt: this.#clock.monotonic() });
    return before === undefined ? "joined" : "stays";
  }

  /** Forgets those that are silent, and returns them. */
  expire(): readonly { readonly name: string; readonly group: string }[] {
    const gone = [...this.#workers].filter(([, { seenAt }]) => seenAt + this.#leaseMs < this.#clock.monotonic());
    for (const [key] of gone) this.#workers.delete(key);
    return gone.map(([, { name, beat }]) => ({ name, group: beat.group }));
  }

  /** While the connection was lost no message came. */
  renew(): void {
    for (const [key, worker] of this.#workers) this.#workers.set(key, { ...worker, seenAt: this.#clock.monotonic() });
  }

  /** How many orders the group runs at once. */
  limitOf(group: string): number {
    return this.#of(group).reduce((sum, { beat }) => sum + beat.limit, 0);
  }

  /** Why no worker can run the action now. Returns undefined if one can. */
  problem(
    group: string,
    tool: string,
    actions: readonly { readonly name: string; readonly definition: string }[],
  ): string | undefined {
    const workers = this.#of(group);
    if (workers.length === 0) return `no worker of group \`${group}\` is connected`;
    const knows = workers.filter(({ beat }) =>
      actions.every(({ name }) => Object.hasOwn(beat.tools, actionName(tool, name))),
    );
    if (knows.length === 0) return `no worker of group \`${group}\` has the tool`;
    const same = knows.some(({ beat }) =>
      actions.every(({ name, definition }) => beat.tools[actionName(tool, name)] === definition),
    );
    return same
      ? undefined
      : `the workers of group \`${group}\` have another definition of the tool; give them the same version`;
  }

  list(): readonly KnownWorker[] {
    return [...this.#workers.values()].map(({ name, beat: { group, version, limit, running, tools } }) => ({
      ...{ name, group, version, limit, running: running.length },
      tools: [...new Set(Object.keys(tools).map((action) => action.split(" ")[0] ?? ""))].sort(),
    }));
  }

  #of(group: string): readonly PresentWorker[] {
    return [...this.#workers.values()].filter(({ beat }) => beat.group === group);
  }
}

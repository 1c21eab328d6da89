/**
 * A script's own timers while its calls are open: how long they run, and which came first, a timer or a result.
 * Invariant: what a script got in a step with a timer is recorded before its next call begins, so a replay takes the same
 * branch. A timer stands still while a call waits for a person.
 * Next: drive.ts (the loop), frozen.ts (where the record is stored).
 */
import { type Clock, isJsonObject, type Json } from "@postern/core";

/** A step in which a timer ran, or a call of an earlier step was open. */
export interface TimedStep {
  /** Calls of tools that the script had made. */
  readonly made: number;
  /** How long its timers ran. Whole milliseconds. */
  readonly passedMs: number;
  /** The numbers of the calls that had no result yet. */
  readonly open: readonly number[];
}

/** Stores the record of one script. */
export interface TimerStore {
  timedSteps(key: string): Promise<readonly TimedStep[]>;
  keepTimedSteps(key: string, steps: readonly TimedStep[]): Promise<void>;
}

/** More of them are a script that spins. */
const mostTimedSteps = 10_000;

/** The timed steps of one script, in all engines and turns. */
export class TimerRecord {
  readonly #store: TimerStore;
  readonly #key: string;
  #steps: TimedStep[] = [];
  /** The number of steps that are stored. */
  #stored = 0;

  constructor(store: TimerStore, key: string) {
    this.#store = store;
    this.#key = key;
  }

  /** Reads what a script recorded that has run before. */
  async load(): Promise<void> {
    this.#steps = [...(await this.#store.timedSteps(this.#key))];
    this.#stored = this.#steps.length;
  }

  get isStored(): boolean {
    return this.#stored > 0;
  }

  /** The numbers of the calls that had no result at the last step. */
  get open(): readonly number[] {
    return this.#steps.at(-1)?.open ?? [];
  }

  /** @param place the number of timed steps before */
  at(place: number): TimedStep | undefined {
    return this.#steps[place];
  }

  /** Returns false when there are too many. */
  add(place: number, step: TimedStep): boolean {
    this.#steps[place] = step;
    return this.#steps.length <= mostTimedSteps;
  }

  /** Stores what was added. Call it before the script has an effect. */
  async keep(): Promise<void> {
    if (this.#stored === this.#steps.length) return;
    const { length } = this.#steps;
    await this.#store.keepTimedSteps(this.#key, this.#steps);
    this.#stored = length;
  }
}

/** Short in a store: `[made, passedMs, ...open]`. */
export function timedStepsToJson(steps: readonly TimedStep[]): Json {
  return { steps: steps.map(({ made, passedMs, open }) => [made, passedMs, ...open]) };
}

export function timedStepsFrom(body: Json | undefined): readonly TimedStep[] {
  const steps = isJsonObject(body) ? body["steps"] : undefined;
  if (!Array.isArray(steps)) return [];
  // Only `timedStepsToJson` writes them.
  return (steps as [number, number, ...number[]][]).map(([made, passedMs, ...open]) => ({ made, passedMs, open }));
}

/** The calls of a script that wait for a person now. */
export class PersonWaits {
  readonly #waiting = new Set<object>();
  #changed: (() => void) | undefined;

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  begin(call: object): void {
    this.#waiting.add(call);
    this.#changed?.();
  }

  end(call: object): void {
    if (this.#waiting.delete(call)) this.#changed?.();
  }

  follow(changed: (() => void) | undefined): void {
    this.#changed = changed;
  }
}

/** Counts the time in which a script's timers run, and says when its next timer is due. */
export class TimerCount implements Disposable {
  readonly #clock: Pick<Clock, "monotonic" | "in">;
  readonly #waits: PersonWaits;
  readonly #timerMs: number;
  readonly #due = Promise.withResolvers<void>();
  #isDue = false;
  #ranMs = 0;
  /** Monotonic clock. Undefined while the timers stand still. */
  #since: number | undefined;
  #cancel: (() => void) | undefined;

  /** @param timerMs undefined when no timer runs: then none is ever due, and no time passes */
  constructor(clock: Pick<Clock, "monotonic" | "in">, waits: PersonWaits, timerMs: number | undefined) {
    this.#clock = clock;
    this.#waits = waits;
    this.#timerMs = timerMs ?? 0;
    if (timerMs === undefined) return;
    waits.follow(() => this.#follow());
    this.#follow();
  }

  /** Resolves when the next timer is due. */
  get due(): Promise<void> {
    return this.#due.promise;
  }

  /** In whole milliseconds. */
  get passedMs(): number {
    const ranMs = Math.floor(this.#ranMs + (this.#since === undefined ? 0 : this.#clock.monotonic() - this.#since));
    return this.#isDue ? Math.max(ranMs, Math.ceil(this.#timerMs)) : ranMs;
  }

  [Symbol.dispose](): void {
    this.#waits.follow(undefined);
    this.#cancel?.();
  }

  #follow(): void {
    const isRunning = this.#since !== undefined;
    if (isRunning !== this.#waits.isWaiting) return;
    if (isRunning) {
      this.#ranMs += this.#clock.monotonic() - (this.#since ?? 0);
      this.#since = undefined;
      this.#cancel?.();
      return;
    }
    this.#since = this.#clock.monotonic();
    this.#cancel = this.#clock.in(Math.max(0, this.#timerMs - this.#ranMs), () => {
      this.#isDue = true;
      this.#due.resolve();
    });
  }
}

import type { Clock } from "../core/clock.ts";

/** What one script may take of one turn of the event loop. */
const sliceMs = 0.25;
/** A script that makes more calls than this has at most a fifth of the event loop. */
const promptCalls = 50;
const pauseMs = 1;

/** A script's share of the event loop: after each slice other work has a turn. */
export class CallPace {
  readonly #clock: Pick<Clock, "monotonic">;
  #sliceBegan: number;
  #calls = 0;
  #pause: Promise<void> | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#sliceBegan = clock.monotonic();
  }

  /** The engine answered, so other work had a turn meanwhile. @param calls that the script makes together */
  begin(calls: number): void {
    this.#calls += calls;
    if (this.#calls <= promptCalls) this.#sliceBegan = this.#clock.monotonic();
  }

  /** Before each piece of work. Returns undefined while the slice lasts. */
  next(): Promise<void> | undefined {
    return this.#clock.monotonic() - this.#sliceBegan < sliceMs ? undefined : this.#afterOthers();
  }

  /** All calls that wait go on after the same pause, in their order. */
  #afterOthers(): Promise<void> {
    this.#pause ??= new Promise((resolve) => {
      const goOn = (): void => {
        this.#pause = undefined;
        this.#sliceBegan = this.#clock.monotonic();
        resolve();
      };
      if (this.#calls <= promptCalls) setImmediate(goOn);
      else setTimeout(goOn, pauseMs);
    });
    return this.#pause;
  }
}

import type { Clock } from "@postern/core";

/** The time that one script may take of one turn of the event loop. */
const sliceMs = 0.5;

/** Gives other work a turn of the event loop after each slice of a script's work. */
export class CallPace {
  readonly #clock: Pick<Clock, "monotonic">;
  #sliceBegan = Number.NEGATIVE_INFINITY;
  #pause: Promise<void> | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Call it before each piece of work. Returns undefined while the slice lasts. All waiting pieces continue together, in their order. */
  next(): Promise<void> | undefined {
    if (this.#clock.monotonic() - this.#sliceBegan < sliceMs) return undefined;
    this.#pause ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#pause = undefined;
        this.#sliceBegan = this.#clock.monotonic();
        resolve();
      });
    });
    return this.#pause;
  }
}

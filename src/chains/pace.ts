import type { Clock } from "../calls/clock.ts";
import { hurriedTurn } from "../system/hurried-turn.ts";
import { idleTurn } from "../system/idle-turn.ts";

/** So many calls are in a hurry: most scripts have no more. */
const hurriedCalls = 50;
/** Milliseconds of a turn of the loop that these may take before others have theirs. */
const hurriedTurnMs = 0.25;
/** And all further ones. */
const idleTurnMs = 0.1;

/** What is waited for before going on; nothing. */
type Turn = Promise<void> | undefined;

/**
 * A script's share of the loop. A tool that answers at once makes a call that waits for nothing, so nobody else would have a
 * turn before the last of a thousand. What a script asks for beyond what most do gives way to all else.
 */
export class Pace {
  readonly #clock: Clock;
  #turnBegan: number;
  #calls = 0;
  #others: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turnBegan = clock.monotonic();
  }

  /** What was heard came in a turn of its own, and is looked at in another. @param calls that a script makes together */
  heard(calls: number): Turn {
    this.#turnBegan = this.#clock.monotonic();
    this.#calls += calls;
    if (!this.#isHurried) return this.#after(idleTurn());
    const turn = hurriedTurn();
    return turn && this.#after(turn);
  }

  /** Before each call: where many are made together, all would begin in the turn of the first. */
  beforeCall(): Turn {
    return this.#isHurried ? this.beforeMore() : this.#after(idleTurn());
  }

  /** Before anything else that may take long. */
  beforeMore(): Turn {
    return this.#isLong ? this.#shorter() : undefined;
  }

  async #shorter(): Promise<void> {
    do await (this.#isHurried ? this.#turn() : this.#after(idleTurn()));
    while (this.#isLong);
  }

  get #isLong(): boolean {
    return this.#clock.monotonic() - this.#turnBegan > (this.#isHurried ? hurriedTurnMs : idleTurnMs);
  }

  get #isHurried(): boolean {
    return this.#calls <= hurriedCalls;
  }

  async #after(turn: Promise<void>): Promise<void> {
    await turn;
    this.#turnBegan = this.#clock.monotonic();
  }

  /** One for all calls that wait: they go on in their order. */
  #turn(): Promise<void> {
    this.#others ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#others = undefined;
        this.#turnBegan = this.#clock.monotonic();
        resolve();
      });
    });
    return this.#others;
  }
}

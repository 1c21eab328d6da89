import type { Clock } from "../calls/clock.ts";
import { idlePieceMs, type LoopShares, loopShares } from "../system/loop-shares.ts";

/** So many calls are in a hurry: most scripts have no more. */
const hurriedCalls = 50;
/** Milliseconds of a turn of the loop that these may take before others have theirs; all further ones are idle work. */
const hurriedTurnMs = 0.25;

/** What is waited for before going on; nothing. */
type Turn = Promise<void> | undefined;

/**
 * A script's share of the loop. A tool that answers at once makes a call that waits for nothing, so nobody else would have a
 * turn before the last of a thousand. What a script asks for beyond what most do gives way to all else.
 */
export class Pace {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #shares: LoopShares;
  #turnBegan: number;
  #calls = 0;
  /** The loop was busy when the script had its last turn. */
  #isAmongOthers = false;
  #others: Promise<void> | undefined;

  constructor(clock: Pick<Clock, "monotonic">, shares: LoopShares = loopShares) {
    this.#clock = clock;
    this.#shares = shares;
    this.#turnBegan = clock.monotonic();
  }

  /** What was heard came in a turn of its own, and is looked at in another. @param calls that a script makes together */
  heard(calls: number): Turn {
    this.#turnBegan = this.#clock.monotonic();
    this.#calls += calls;
    if (!this.#isHurried) return this.#idleTurn();
    const turn = this.#shares.hurriedTurn();
    this.#isAmongOthers = turn !== undefined;
    return turn && this.#after(turn);
  }

  /** What was called and what is said of it come in turns of their own: both in one make it twice as long for who comes between. */
  beforeAnswer(): Turn {
    if (!this.#isAmongOthers) return undefined;
    if (!this.#isHurried) return this.#idleTurn();
    const turn = this.#shares.hurriedTurn();
    return turn && this.#after(turn);
  }

  /** Before each call: where many are made together, all would begin in the turn of the first. */
  beforeCall(): Turn {
    return this.#isHurried ? this.beforeMore() : this.#idleTurn();
  }

  /** Before anything else that may take long. */
  beforeMore(): Turn {
    return this.#isLong ? this.#shorter() : undefined;
  }

  async #shorter(): Promise<void> {
    do await (this.#isHurried ? this.#turn() : this.#idleTurn());
    while (this.#isLong);
  }

  get #isLong(): boolean {
    return this.#clock.monotonic() - this.#turnBegan > (this.#isHurried ? hurriedTurnMs : idlePieceMs);
  }

  get #isHurried(): boolean {
    return this.#calls <= hurriedCalls;
  }

  async #idleTurn(): Promise<void> {
    this.#isAmongOthers = !(await this.#shares.idleTurn());
    this.#turnBegan = this.#clock.monotonic();
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

import { LoopShares } from "../../src/system/loop-shares.ts";

/** An event loop without time of its own: a turn takes what is done in it, and a thousandth of a millisecond. */
export class FakeLoop {
  readonly shares: LoopShares = new LoopShares({
    now: () => this.ms,
    sleptMs: () => this.#slept,
    next: (work) => {
      this.asked += 1;
      this.#next.push(work);
    },
    later: (work, ms) => {
      const timer = { dueMs: this.ms + ms, work };
      this.#timers.add(timer);
      return () => this.#timers.delete(timer);
    },
  });
  /** What its clock says. */
  ms = 0;
  turns = 0;
  /** How often it was asked to do something in its next turn. */
  asked = 0;
  #slept = 0;
  #next: (() => void)[] = [];
  readonly #timers: Set<{ readonly dueMs: number; readonly work: () => void }> = new Set();
  #others: () => void = () => {};

  /** Whoever is at work takes so long. */
  busy(ms: number): void {
    this.ms += ms;
  }

  sleeps(ms: number): void {
    this.ms += ms;
    this.#slept += ms;
  }

  /** Somebody else does this in each turn. */
  others(work: () => void): void {
    this.#others = work;
  }

  async turn(): Promise<void> {
    const now = this.#next.splice(0);
    this.turns += 1;
    this.busy(0.001);
    this.#others();
    for (const timer of this.#timers)
      if (timer.dueMs <= this.ms) {
        this.#timers.delete(timer);
        timer.work();
      }
    for (const work of now) {
      work();
      await new Promise(setImmediate); // all that follows from it before the next one
    }
  }

  /** @returns milliseconds until it was done */
  async until(done: Promise<unknown> | undefined): Promise<number> {
    const begun = this.ms;
    let isDone = done === undefined;
    void done?.then(() => {
      isDone = true;
    });
    while (!isDone) await this.turn();
    return this.ms - begun;
  }

  async goOn(turns: number): Promise<void> {
    for (let i = 0; i < turns; i++) await this.turn();
  }
}

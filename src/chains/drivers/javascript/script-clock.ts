/**
 * The time a script is told: that of its first arrival, a millionth of a second more with every look, and what it slept. So a
 * script that is replayed, where its image does not fit, tells the same times, and the calls it makes of them are the same.
 */
export class ScriptClock {
  /** Since 1970; a number holds them until 2255. */
  #microseconds: number;

  constructor(microseconds = 0) {
    this.#microseconds = microseconds;
  }

  get microseconds(): number {
    return this.#microseconds;
  }

  look(): bigint {
    this.#microseconds += 1;
    return BigInt(this.#microseconds) * 1_000n;
  }

  set(microseconds: number): void {
    this.#microseconds = microseconds;
  }

  slept(ms: number): void {
    this.#microseconds += Math.ceil(ms) * 1_000;
  }
}

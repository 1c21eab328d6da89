/**
 * A script's clock: the time of its first arrival, plus a microsecond for each read, plus what it slept. So a replayed script
 * reads the same times and makes the same calls.
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

const thousandths: readonly string[] = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);

/** ISO 8601 in UTC, the text `Date` writes. A second is spelled once: calls come many in one. */
export class Timestamps {
  #second = Number.NaN;
  #prefix = "";

  /** @param at wall clock, milliseconds */
  spell(at: number): string {
    const second = Math.floor(at / 1000);
    if (second !== this.#second) {
      this.#prefix = new Date(second * 1000).toISOString().slice(0, -4);
      this.#second = second;
    }
    return `${this.#prefix}${thousandths[Math.floor(at) - second * 1000]}`;
  }
}

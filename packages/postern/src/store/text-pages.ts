const pageBytes = 64 * 1024;

/** Many texts as bytes, which cost the garbage collector nothing. A text that is larger than a page has one of its own. */
export class TextPages {
  readonly #pages: Buffer[] = [];
  /** Bytes of each page that hold texts. */
  readonly #used: number[] = [];
  /** Where each text begins: the number of its page times `pageBytes`, and the bytes before it in that page. */
  readonly #places: number[] = [];

  add(text: string): void {
    const most = text.length * 3; // UTF-8 takes at most three bytes for a UTF-16 unit
    let page = this.#pages.length - 1;
    let used = this.#used[page] ?? pageBytes;
    // A page is left before it is full: the end of one page is the same place as the start of the next.
    if (used + most >= pageBytes) {
      page = this.#pages.push(Buffer.allocUnsafeSlow(Math.max(most, pageBytes))) - 1;
      used = 0;
    }
    this.#places.push(page * pageBytes + used);
    this.#used[page] = used + (this.#pages[page]?.write(text, used) ?? 0);
  }

  /** Returns undefined if there are not so many texts. */
  at(index: number): string | undefined {
    const place = this.#places[index];
    if (place === undefined) return undefined;
    const page = Math.floor(place / pageBytes);
    const start = place % pageBytes;
    const next = (this.#places[index + 1] ?? Number.POSITIVE_INFINITY) - page * pageBytes;
    return this.#pages[page]?.toString("utf8", start, next < pageBytes ? next : this.#used[page]);
  }
}

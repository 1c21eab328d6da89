/** One change at a time for each name: two edits of one file in flight do not lose one of them. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  async with<T>(names: readonly string[], body: () => Promise<T>): Promise<T> {
    const ordered = [...new Set(names)].sort(); // the same order for everybody: no two wait for each other
    const before = Promise.all(ordered.map((name) => this.#last.get(name)));
    const done = Promise.withResolvers<void>();
    for (const name of ordered) this.#last.set(name, done.promise);
    try {
      await before;
      return await body();
    } finally {
      done.resolve();
      for (const name of ordered) if (this.#last.get(name) === done.promise) this.#last.delete(name);
    }
  }
}

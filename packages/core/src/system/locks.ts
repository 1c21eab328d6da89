/** Runs one piece of work at a time for each name. Work of different names runs at the same time. A name is forgotten when its last work ends. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `body` after all earlier work for one of these names, also when that failed. */
  async with<T>(names: readonly string[], body: () => Promise<T>): Promise<T> {
    const ordered = [...new Set(names)].sort(); // the same order everywhere, so no two wait for each other
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

  /** Resolves when all work that was given for this name until now has ended. */
  async over(name: string): Promise<void> {
    await this.#last.get(name);
  }
}

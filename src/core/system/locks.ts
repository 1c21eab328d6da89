/** One piece of work at a time for each name; what has other names goes on beside it. Nothing of a name is kept when its last work is over. */
export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `body` after everything that was given for one of these names before, whatever became of that. */
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

  /** When everything is over that was given for this name until now. */
  async over(name: string): Promise<void> {
    await this.#last.get(name);
  }
}

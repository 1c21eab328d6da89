import type { Clock } from "@postern/core";

/** The tools of a server are listed at most this often. */
const everyMs = 200;

/** Lists the tools of a server after it announced a change. A change during a listing leads to another one. */
export class Relisting {
  readonly #clock: Clock;
  readonly #list: () => Promise<boolean>;
  #running: Promise<void> | undefined;
  #isStale = false;
  #endPause: (() => void) | undefined;
  #closed = false;

  /** @param list resolves to false if the server is being connected: it is asked again afterwards */
  constructor(clock: Clock, list: () => Promise<boolean>) {
    this.#clock = clock;
    this.#list = list;
  }

  /** A change was announced that no listing has covered. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /** The list is about to be read in another way. */
  reset(): void {
    this.#isStale = false;
  }

  changed(): void {
    if (this.#running !== undefined) this.#isStale = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  close(): void {
    this.#closed = true;
    this.#endPause?.();
  }

  async #run(): Promise<void> {
    do {
      this.#isStale = false;
      const isListed = await this.#list();
      if (!isListed) {
        this.#isStale = true;
        return;
      }
      await this.#pause();
    } while (this.#isStale && !this.#closed);
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.in(everyMs, resolve, false);
    this.#endPause = () => {
      cancel();
      resolve();
    };
    if (this.#closed) this.#endPause();
    return promise;
  }
}

import { type Clock, messageOf } from "@postern/core";

export interface SweeperOptions {
  /** A long sweep stops at its next turn when `stop` is aborted. */
  readonly sweep: (stop: AbortSignal) => Promise<unknown>;
  /** What is swept, for the log. */
  readonly what: string;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

const everyMs = 3_600_000;
/** For so long a sweep goes on when it is closed. */
const patienceMs = 5_000;

/** Sweeps at the start and every hour. Closing waits for a running sweep, and after 5 seconds asks it to stop. */
export class Sweeper implements AsyncDisposable {
  readonly #options: SweeperOptions;
  readonly #stop = new AbortController();
  #closed = false;
  #cancel = (): void => {};
  #sweeping: Promise<void>;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#sweeping = this.#sweep();
  }

  async #sweep(): Promise<void> {
    const { sweep, what, clock, log } = this.#options;
    try {
      await sweep(this.#stop.signal);
    } catch (error) {
      log(`${what} that are not needed could not be swept: ${messageOf(error)}. It is tried again in an hour.`);
    }
    if (this.#closed) return;
    this.#cancel = clock.in(
      everyMs,
      () => {
        this.#sweeping = this.#sweep();
      },
      false,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#cancel();
    const cancel = this.#options.clock.in(patienceMs, () => this.#stop.abort());
    await this.#sweeping;
    cancel();
  }
}

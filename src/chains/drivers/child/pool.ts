/**
 * Sandboxes that are ready before a script needs one. Each serves one script and is thrown away: nothing of a script can
 * meet the next one.
 *
 * Invariant: never more than `most` alive; who comes later waits for one to end.
 */
import { type ChildSpec, SandboxProcess } from "./child-process.ts";

export interface PoolOptions {
  /** Ready and idle. */
  readonly warm: number;
  /** Alive at once, idle ones included. */
  readonly most: number;
  /** Started at the same time: starting costs a processor 60 ms, and the host has other work. */
  readonly startsAtOnce: number;
}

const longestRehearsalMs = 10_000;

export interface Pooled {
  readonly gone: Promise<void>;
  kill(): void;
  /** An idle one keeps nobody's process alive. */
  idle(isIdle: boolean): void;
}

/** How the sandboxes of a pool are made. */
export interface Maker<End extends Pooled> {
  /** @throws Error when it does not start */
  start(): Promise<End>;
  /** What is done with a new one while nobody waits for it. */
  rehearse?(child: End): Promise<unknown>;
}

export class SandboxPool<End extends Pooled> implements AsyncDisposable {
  readonly #maker: Maker<End>;
  readonly #options: PoolOptions;
  readonly #ready: End[] = [];
  readonly #asking: { give(child: End): void; fail(error: unknown): void }[] = [];
  #starting = 0;
  #busy = 0;
  #closed = false;

  constructor(maker: Maker<End>, options: PoolOptions) {
    this.#maker = maker;
    this.#options = options;
  }

  /** @throws Error when a process cannot be started */
  take(): Promise<End> {
    if (this.#closed) return Promise.reject(new Error("The sandboxes are closed."));
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    this.#asking.push({ give: resolve, fail: reject });
    this.#serve();
    return promise;
  }

  /** Starts what shall be warm. */
  warm(): void {
    this.#fill();
  }

  get alive(): number {
    return this.#ready.length + this.#busy + this.#starting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const { fail } of this.#asking.splice(0)) fail(new Error("The sandboxes are closed."));
    const idle = this.#ready.splice(0);
    for (const child of idle) {
      child.idle(false); // or the process could end before its close has
      child.kill();
    }
    await Promise.all(idle.map(({ gone }) => gone));
  }

  #serve(): void {
    while (this.#asking.length > 0 && this.#ready.length > 0) {
      const child = this.#ready.shift();
      const asking = this.#asking.shift();
      if (child === undefined || asking === undefined) return;
      child.idle(false);
      this.#busy++;
      void child.gone.then(() => {
        this.#busy--;
        this.#serve();
      });
      asking.give(child);
    }
    this.#fill();
  }

  /** As many as are asked for, then as many as shall be warm. */
  #fill(): void {
    if (this.#closed) return;
    const { warm, most, startsAtOnce } = this.#options;
    const wanted = this.#asking.length + warm - this.#ready.length - this.#starting;
    const room = Math.min(wanted, most - this.alive, startsAtOnce - this.#starting);
    for (let i = 0; i < room; i++) void this.#start();
  }

  async #start(): Promise<void> {
    this.#starting++;
    try {
      const child = await this.#maker.start();
      if (this.#asking.length === 0) await this.#maker.rehearse?.(child);
      this.#starting--;
      this.#keep(child);
    } catch (error) {
      this.#starting--;
      this.#asking.shift()?.fail(error); // whoever is next gets a start of their own
    }
    this.#serveAsked();
  }

  #keep(child: End): void {
    if (this.#closed) {
      child.kill();
      return;
    }
    child.idle(true);
    this.#ready.push(child);
    void child.gone.then(() => {
      const place = this.#ready.indexOf(child);
      if (place >= 0) this.#ready.splice(place, 1); // it died while it was idle
    });
  }

  /** A start that failed is not repeated for warmth alone: the next script asks again, and hears why. */
  #serveAsked(): void {
    if (this.#asking.length > 0 || this.#ready.length > 0) this.#serve();
  }
}

/** Of processes of this machine. */
export class ChildPool extends SandboxPool<SandboxProcess> {
  constructor(spec: ChildSpec, options: PoolOptions) {
    const rehearse = (child: SandboxProcess): Promise<unknown> => child.ask({ do: "rehearse" }, longestRehearsalMs);
    super({ start: () => SandboxProcess.start(spec), ...(spec.rehearses === true && { rehearse }) }, options);
  }
}

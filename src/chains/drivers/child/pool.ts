/**
 * Sandboxes that are ready before a script needs one.
 *
 * Invariant: never more than `most` alive, who comes later waits for one to end; and a sandbox that a script was in is for
 * scripts of the same owner alone, where its engine lets it be for another one at all.
 * Next: session.ts (when a script gives its process back), ../../../../docs/decisions/0015-a-process-serves-one-tenant.md.
 */
import { availableParallelism } from "node:os";
import { SystemClock } from "../../../calls/clock.ts";
import { whenCalm } from "./calm.ts";
import { type ChildSpec, SandboxProcess } from "./child-process.ts";
import { ownCpuMsOf } from "./kernel-tells.ts";

export interface PoolOptions {
  /** Ready and idle, and nobody's yet. */
  readonly warm: number;
  /** Alive at once, idle ones included. */
  readonly most: number;
  /** Started at the same time: starting costs a processor 60 ms, and the host has other work. */
  readonly startsAtOnce: number;
  /** Scripts that one serves before it is thrown away; 1 where it is left out. */
  readonly scriptsEach?: number;
}

/** Processors for starting: one is left to the host. */
export function allButOne(): number {
  return Math.max(1, availableParallelism() - 1);
}

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
  /** Makes one forget its script. False: it is not fit for another. */
  rest?(child: End): Promise<boolean>;
}

interface Asking<End> {
  readonly owner: string | undefined;
  give(child: End): void;
  fail(error: unknown): void;
}

interface Rested<End> {
  readonly child: End;
  readonly owner: string;
  readonly stay: () => void;
}

/** Waiting for their owner's next script, of all owners; more than this only while many come. */
const mostRested = 4;
const longestRestMs = 60_000;
const crowdedRestMs = 2_000;
const longestRehearsalMs = 10_000;
/** Of a process, start included: it has a limit of the kernel's too, which must not come in the middle of a script. */
const mostCpuMs = 10_000;
const clock = new SystemClock(); // processes rest in real time

export class SandboxPool<End extends Pooled> implements AsyncDisposable {
  readonly #maker: Maker<End>;
  readonly #options: PoolOptions;
  readonly #ready: End[] = [];
  readonly #asking: Asking<End>[] = [];
  readonly #busy = new Set<End>();
  readonly #served = new WeakMap<End, number>();
  readonly #rested: Rested<End>[] = [];
  #starting = 0;
  #resting = 0;
  #warming: (() => void) | undefined;
  #closed = false;

  constructor(maker: Maker<End>, options: PoolOptions) {
    this.#maker = maker;
    this.#options = options;
  }

  /**
   * @param owner whose script it is for: one that served this owner before may come. Undefined: a new one
   * @param signal of whoever waits: once it is aborted, the place in the queue is given up
   * @throws Error when a process cannot be started, or nobody waits for it any more
   */
  take(owner?: string, signal?: AbortSignal): Promise<End> {
    if (this.#closed) return Promise.reject(new Error("The sandboxes are closed."));
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    const asking = { owner, give: resolve, fail: reject };
    this.#asking.push(asking);
    this.#serve();
    const leave = (): void => {
      const at = this.#asking.indexOf(asking);
      if (at < 0) return; // it was served
      this.#asking.splice(at, 1);
      reject(new Error("Nobody waits for this sandbox any more."));
    };
    if (signal?.aborted === true) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** For one whose script has left it in order. What is not fit for another script is ended. */
  async release(child: End, owner: string | undefined): Promise<void> {
    const served = (this.#served.get(child) ?? 0) + 1;
    this.#served.set(child, served);
    const { scriptsEach = 1 } = this.#options;
    const isFit = owner !== undefined && served < scriptsEach && (await this.#rinsed(child));
    if (isFit && !this.#closed && !this.#isWantedElse(owner) && this.#busy.delete(child)) this.#rest(child, owner);
    else child.kill();
  }

  async #rinsed(child: End): Promise<boolean> {
    this.#resting++;
    const isFit = await this.#maker.rest?.(child);
    this.#resting--;
    return isFit === true;
  }

  /** Whether another owner has waited longest and can have none while this one is kept. */
  #isWantedElse(owner: string): boolean {
    const [first] = this.#asking;
    return first !== undefined && first.owner !== owner && this.alive >= this.#options.most;
  }

  /** Starts what shall be warm. */
  warm(): void {
    this.#warming?.();
    this.#warming = undefined;
    this.#startUpTo(this.#asking.length + this.#options.warm);
  }

  get alive(): number {
    return this.#ready.length + this.#rested.length + this.#busy.size + this.#starting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#warming?.();
    for (const { fail } of this.#asking.splice(0)) fail(new Error("The sandboxes are closed."));
    const idle = [...this.#ready.splice(0), ...this.#rested.splice(0).map(({ child }) => child)];
    for (const child of idle) {
      child.idle(false); // or the process could end before its close has
      child.kill();
    }
    await Promise.all(idle.map(({ gone }) => gone));
  }

  #serve(): void {
    for (const asking of [...this.#asking]) {
      const child = this.#restedFor(asking.owner) ?? this.#ready.shift();
      if (child === undefined) continue;
      this.#asking.splice(this.#asking.indexOf(asking), 1);
      child.idle(false);
      this.#busy.add(child);
      asking.give(child);
    }
    this.#fill();
  }

  /** The one that rested last: what it runs is compiled best. */
  #restedFor(owner: string | undefined): End | undefined {
    const found = owner === undefined ? undefined : this.#rested.findLast((rested) => rested.owner === owner)?.child;
    if (found !== undefined) this.#unrest(found);
    return found;
  }

  #rest(child: End, owner: string): void {
    child.idle(true);
    const restMs = this.#rested.length < mostRested ? longestRestMs : crowdedRestMs;
    this.#rested.push({ child, owner, stay: clock.in(restMs, () => this.#retire(child), false) });
    this.#serve();
  }

  /** It counts as alive until it is gone. */
  #retire(child: End | undefined): void {
    if (child === undefined) return;
    this.#unrest(child);
    this.#busy.add(child);
    child.kill();
  }

  #unrest(child: End): void {
    const at = this.#rested.findIndex((rested) => rested.child === child);
    for (const { stay } of at < 0 ? [] : this.#rested.splice(at, 1)) stay();
  }

  /** As many as are asked for at once; what shall be warm besides, when whoever was served has got under way. */
  #fill(): void {
    const { warm, most } = this.#options;
    this.#startUpTo(this.#asking.length - this.#resting); // what is about to be free need not be started
    if (this.#asking.length > 0 && this.alive >= most) this.#retire(this.#rested[0]?.child); // another owner's makes room
    if (this.#asking.length === 0 && this.#ready.length + this.#starting < warm && !this.#closed)
      this.#warming ??= whenCalm(clock, () => this.warm());
  }

  #startUpTo(wanted: number): void {
    if (this.#closed) return;
    const { most, startsAtOnce } = this.#options;
    const lacking = wanted - this.#ready.length - this.#starting;
    const room = Math.min(lacking, most - this.alive, startsAtOnce - this.#starting);
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
    void child.gone.then(() => this.#forget(child));
  }

  /** It died while it was idle, was killed, or its script was. */
  #forget(child: End): void {
    const place = this.#ready.indexOf(child);
    if (place >= 0) this.#ready.splice(place, 1);
    this.#unrest(child);
    if (this.#busy.delete(child) || this.#asking.length > 0) this.#serve();
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
    const rest = async (child: SandboxProcess): Promise<boolean> =>
      (ownCpuMsOf(child.pid) ?? 0) < mostCpuMs && (await child.rest());
    super({ start: () => SandboxProcess.start(spec), rest, ...(spec.rehearses === true && { rehearse }) }, options);
  }
}

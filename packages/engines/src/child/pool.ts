/**
 * Sandboxes that are started before a script needs one, and the queue for them.
 *
 * Invariant: at most `most` are alive, and later scripts wait. Owners take turns, and each has a limit. A used sandbox serves
 * only scripts of the same owner, if its engine allows a second script at all.
 * Next: session.ts (when a script returns its process).
 */
import { SystemClock } from "@postern/core";
import { type ChildSpec, SandboxProcess } from "./child-process.ts";
import { usageOf } from "./usage.ts";

export interface PoolOptions {
  /** Idle and unused sandboxes. */
  readonly warm: number;
  /** The most alive at once, idle ones included. */
  readonly most: number;
  /** The most that start at the same time: starting needs a processor. */
  readonly startsAtOnce: number;
  /** The most scripts that one sandbox serves. Default 1. */
  readonly scriptsEach?: number;
}

export interface PooledEnd {
  readonly gone: Promise<void>;
  kill(): void;
  /** An idle one does not keep the host alive. */
  idle(isIdle: boolean): void;
}

export interface Maker<End extends PooledEnd> {
  /** @throws Error when it does not start */
  start(): Promise<End>;
  /** Makes one forget its script. Returns false when it cannot serve another. */
  rest?(child: End): Promise<boolean>;
}

type ProcessOwner = string | undefined;

interface ProcessRequest<End> {
  readonly owner: ProcessOwner;
  give(child: End): void;
  fail(error: unknown): void;
}

/** A sandbox between two scripts of its owner. */
interface RestingSandbox<End> {
  readonly child: End;
  readonly owner: string;
  readonly cancelEnd: () => void;
}

/** Used sandboxes that wait for their owner's next script. More than this wait only for a short time. */
const mostResting = 4;
const longestRestMs = 60_000;
const crowdedRestMs = 2_000;
/** A script that takes the last warm sandbox has usually ended by then. */
const warmAfterMs = 50;
/** Processor time of a process: it is replaced before the kernel's own limit ends it during a script. */
const mostCpuMs = 60_000;
const closed = "The sandboxes are closed.";
const clock = new SystemClock(); // idle times are real times

export class SandboxPool<End extends PooledEnd> implements AsyncDisposable {
  readonly #maker: Maker<End>;
  readonly #options: PoolOptions;
  readonly #ready: End[] = [];
  readonly #resting: RestingSandbox<End>[] = [];
  /** The owner of the script in each. */
  readonly #busy = new Map<End, ProcessOwner>();
  /** Killed and not gone yet. */
  readonly #ending = new Set<End>();
  readonly #served = new WeakMap<End, number>();
  /** By owner. A served owner goes to the end. */
  readonly #requests = new Map<ProcessOwner, ProcessRequest<End>[]>();
  readonly #starting = new Set<Promise<void>>();
  /** Sandboxes that are about to be free. */
  #cleaning = 0;
  #cancelWarming: (() => void) | undefined;
  #isClosed = false;

  constructor(maker: Maker<End>, options: PoolOptions) {
    this.#maker = maker;
    this.#options = options;
  }

  /**
   * @param owner owners take turns, and an owner may get a sandbox that served it before. Scripts without an owner get a new
   * sandbox and share one place in the queue
   * @param signal leaves the queue when it is aborted
   * @throws Error when a sandbox cannot be started, or `signal` was aborted
   */
  take(owner?: string, signal?: AbortSignal): Promise<End> {
    if (this.#isClosed) return Promise.reject(new Error(closed));
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    const request: ProcessRequest<End> = { owner, give: resolve, fail: reject };
    this.#requests.set(owner, [...(this.#requests.get(owner) ?? []), request]);
    this.#serve();
    const leave = (): void => {
      if (this.#remove(request)) reject(new Error("The script was cancelled before it got a sandbox."));
    };
    if (signal?.aborted === true) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** Takes back a sandbox whose script ended normally. It is ended if it cannot serve another. */
  async release(child: End, owner: string | undefined): Promise<void> {
    const served = (this.#served.get(child) ?? 0) + 1;
    this.#served.set(child, served);
    const isFit = owner !== undefined && served < (this.#options.scriptsEach ?? 1) && (await this.#clean(child));
    if (!this.#busy.delete(child)) return; // it is gone
    if (!isFit || this.#isClosed || this.#isNeededByOther(owner)) this.#end(child);
    else this.#rest(child, owner);
  }

  /** Starts the warm sandboxes. */
  warm(): void {
    this.#cancelWarming?.();
    this.#cancelWarming = undefined;
    this.#start(this.#wanted + this.#options.warm - this.#ready.length - this.#starting.size);
  }

  get alive(): number {
    return this.#ready.length + this.#resting.length + this.#busy.size + this.#ending.size + this.#starting.size;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelWarming?.();
    for (const { fail } of [...this.#requests.values()].flat()) fail(new Error(closed));
    this.#requests.clear();
    const resting = this.#resting.splice(0).map(({ child }) => child);
    const all = [...this.#ready.splice(0), ...resting, ...this.#busy.keys(), ...this.#ending];
    for (const child of all) {
      child.idle(false); // keeps the host alive until the sandbox is gone
      child.kill();
    }
    await Promise.all([...all.map(({ gone }) => gone), ...this.#starting]);
  }

  /** Gives out what is free, and starts what is missing. */
  #serve(): void {
    for (;;) {
      const request = this.#next((owner) => this.#ready.length > 0 || this.#restingOf(owner) !== undefined);
      if (request === undefined) break;
      const { owner, give } = request;
      const rested = this.#restingOf(owner);
      if (rested !== undefined) this.#forgetResting(rested);
      const child = rested ?? this.#ready.shift();
      if (child === undefined) break;
      this.#remove(request);
      this.#moveToEnd(owner);
      child.idle(false);
      this.#busy.set(child, owner);
      give(child);
    }
    this.#fill();
  }

  /** Starts what waiting scripts need at once, and the warm ones a little later. */
  #fill(): void {
    const { warm, most } = this.#options;
    const wanted = this.#wanted;
    this.#start(wanted - this.#cleaning - this.#ready.length - this.#starting.size);
    const [oldest] = this.#resting;
    if (wanted > 0 && this.alive >= most && oldest !== undefined) this.#end(oldest.child); // makes room for another owner
    if (wanted === 0 && this.#ready.length + this.#starting.size < warm && !this.#isClosed)
      this.#cancelWarming ??= clock.in(warmAfterMs, () => this.warm(), false);
  }

  #start(count: number): void {
    if (this.#isClosed) return;
    const { most, startsAtOnce } = this.#options;
    const room = Math.min(count, most - this.alive, startsAtOnce - this.#starting.size);
    for (let i = 0; i < room; i++) {
      const starting: Promise<void> = this.#startOne(() => this.#starting.delete(starting));
      this.#starting.add(starting);
    }
  }

  async #startOne(isOver: () => void): Promise<void> {
    const started = await this.#maker.start().catch((cause: unknown) => ({ cause }));
    isOver();
    if ("cause" in started) this.#failNext(started.cause);
    else await this.#keep(started);
    // A failed start is not repeated for a warm sandbox. The next script starts one and gets the error.
    if (this.#wanted > 0 || this.#ready.length > 0) this.#serve();
  }

  /** The error goes to the first in the queue; the next one gets its own start. */
  #failNext(cause: unknown): void {
    const request = this.#next(() => true);
    if (request === undefined) return;
    this.#remove(request);
    request.fail(cause);
  }

  async #keep(child: End): Promise<void> {
    if (this.#isClosed) {
      child.kill();
      await child.gone;
      return;
    }
    child.idle(true);
    this.#ready.push(child);
    void child.gone.then(() => this.#forget(child));
  }

  /** Forgets one that ended or was killed. */
  #forget(child: End): void {
    const place = this.#ready.indexOf(child);
    if (place >= 0) this.#ready.splice(place, 1);
    this.#forgetResting(child);
    if (this.#busy.delete(child) || this.#ending.delete(child) || this.#wanted > 0) this.#serve();
  }

  /** A killed sandbox counts as alive until it is gone. */
  #end(child: End): void {
    this.#forgetResting(child);
    this.#ending.add(child);
    child.kill();
  }

  async #clean(child: End): Promise<boolean> {
    this.#cleaning++;
    const isClean = await this.#maker.rest?.(child);
    this.#cleaning--;
    return isClean === true;
  }

  #rest(child: End, owner: string): void {
    child.idle(true);
    const restMs = this.#resting.length < mostResting ? longestRestMs : crowdedRestMs;
    this.#resting.push({ child, owner, cancelEnd: clock.in(restMs, () => this.#end(child), false) });
    this.#serve();
  }

  /** The one that was used last. */
  #restingOf(owner: ProcessOwner): End | undefined {
    return this.#resting.findLast((resting) => resting.owner === owner)?.child;
  }

  #forgetResting(child: End): void {
    const at = this.#resting.findIndex((resting) => resting.child === child);
    for (const { cancelEnd } of at < 0 ? [] : this.#resting.splice(at, 1)) cancelEnd();
  }

  /** Whether another owner is next and needs the room of a sandbox that this owner returned. */
  #isNeededByOther(owner: ProcessOwner): boolean {
    const next = this.#next(() => true);
    return next !== undefined && next.owner !== owner && this.alive + 1 >= this.#options.most;
  }

  /** The number of requests that could be served now. */
  get #wanted(): number {
    return [...this.#requests].reduce(
      (sum, [owner, { length }]) => sum + Math.max(0, Math.min(length, this.#left(owner))),
      0,
    );
  }

  #next(isFor: (owner: ProcessOwner) => boolean): ProcessRequest<End> | undefined {
    for (const [owner, [first]] of this.#requests) if (this.#left(owner) > 0 && isFor(owner)) return first;
    return undefined;
  }

  /** Returns false when it no longer waits. */
  #remove(request: ProcessRequest<End>): boolean {
    const { owner } = request;
    const all = this.#requests.get(owner) ?? [];
    const others = all.filter((each) => each !== request);
    if (others.length > 0) this.#requests.set(owner, others);
    else this.#requests.delete(owner);
    return others.length < all.length;
  }

  #moveToEnd(owner: ProcessOwner): void {
    const requests = this.#requests.get(owner);
    this.#requests.delete(owner);
    if (requests !== undefined) this.#requests.set(owner, requests);
  }

  /** One owner alone gets at most 7/8 of a pool, so that the next finds some. If several wait, none gets more than half. */
  #left(owner: ProcessOwner): number {
    const { most } = this.#options;
    const share = this.#requests.size > 1 ? Math.ceil(most / 2) : most - (most < 4 ? 0 : Math.ceil(most / 8));
    return share - [...this.#busy.values()].filter((each) => each === owner).length;
  }
}

/** A pool of child processes. */
export class ChildPool extends SandboxPool<SandboxProcess> {
  constructor(spec: ChildSpec, options: PoolOptions) {
    const rest = async (child: SandboxProcess): Promise<boolean> =>
      (await child.rest()) && (usageOf(child.pid)?.cpuMs ?? 0) < mostCpuMs;
    super({ start: () => SandboxProcess.start(spec), rest }, options);
  }
}

/**
 * Sandboxes that are started before a script needs one.
 *
 * Invariant: at most `most` are alive, and later scripts wait. A used sandbox serves only scripts of the same owner, if its
 * engine allows a second script at all.
 * Next: shares.ts (the queue), session.ts (when a script returns its process).
 */
import { availableParallelism } from "node:os";
import { SystemClock } from "../../core/clock.ts";
import { type ChildSpec, SandboxProcess } from "./child-process.ts";
import { measured } from "./kernel-tells.ts";
import { type ProcessRequest, Shares } from "./shares.ts";

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

/** The number of processors, less one for the host. */
export function allButOne(): number {
  return Math.max(1, availableParallelism() - 1);
}

export interface Pooled {
  readonly gone: Promise<void>;
  kill(): void;
  /** An idle one does not keep the host alive. */
  idle(isIdle: boolean): void;
}

/** Starts the sandboxes of a pool. */
export interface Maker<End extends Pooled> {
  /** @throws Error when it does not start */
  start(): Promise<End>;
  /** Prepares a new one while no script waits, `rehearsals` times. */
  rehearse?(child: End): Promise<unknown>;
  readonly rehearsals?: number | undefined;
  /** Makes one forget its script. Returns false when it cannot serve another. */
  rest?(child: End): Promise<boolean>;
}

interface Rested<End> {
  readonly child: End;
  readonly owner: string;
  readonly stay: () => void;
}

/** Used sandboxes that wait for their owner's next script. More than this wait only for a short time. */
const mostRested = 4;
const longestRestMs = 60_000;
const crowdedRestMs = 2_000;
/** Most scripts have ended by then. */
const warmAfterMs = 50;
const longestRehearsalMs = 10_000;
/** Processor time of a process: it is replaced before the kernel's own limit ends it during a script. */
const mostCpuMs = 60_000;
const clock = new SystemClock(); // idle times are real times

export class SandboxPool<End extends Pooled> implements AsyncDisposable {
  readonly #maker: Maker<End>;
  readonly #options: PoolOptions;
  readonly #ready: End[] = [];
  readonly #shares: Shares<End>;
  /** The owner of the script in each. */
  readonly #busy = new Map<End, string | undefined>();
  /** Killed and not gone yet. */
  readonly #ending = new Set<End>();
  readonly #served = new WeakMap<End, number>();
  readonly #rested: Rested<End>[] = [];
  #starting = 0;
  #resting = 0;
  #warming: (() => void) | undefined;
  #closed = false;

  constructor(maker: Maker<End>, options: PoolOptions) {
    this.#maker = maker;
    this.#options = options;
    this.#shares = new Shares(options.most);
  }

  /**
   * @param owner owners take turns, and an owner may get a sandbox that served it before. Scripts without an owner get a new
   * sandbox and share one place in the queue
   * @param signal leaves the queue when it is aborted
   * @throws Error when a sandbox cannot be started, or `signal` was aborted
   */
  take(owner?: string, signal?: AbortSignal): Promise<End> {
    if (this.#closed) return Promise.reject(new Error("The sandboxes are closed."));
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    const asking: ProcessRequest<End> = { owner, give: resolve, fail: reject };
    this.#shares.add(asking);
    this.#serve();
    const leave = (): void => {
      if (this.#shares.remove(asking)) reject(new Error("The script was cancelled before it got a sandbox."));
    };
    if (signal?.aborted === true) leave();
    else signal?.addEventListener("abort", leave, { once: true });
    return promise;
  }

  /** Takes back a sandbox whose script ended normally. It is ended if it cannot serve another. */
  async release(child: End, owner: string | undefined): Promise<void> {
    const served = (this.#served.get(child) ?? 0) + 1;
    this.#served.set(child, served);
    const { scriptsEach = 1 } = this.#options;
    const isFit = owner !== undefined && served < scriptsEach && (await this.#rinsed(child));
    const isThere = this.#letGo(child);
    if (isFit && isThere && !this.#closed && !this.#isWantedElse(owner)) this.#rest(child, owner);
    else if (isThere) this.#endOf(child);
  }

  #letGo(child: End): boolean {
    const owner = this.#busy.get(child);
    const isThere = this.#busy.delete(child);
    if (isThere) this.#shares.giveBack(owner);
    return isThere;
  }

  /** A killed sandbox counts as alive until it is gone. */
  #endOf(child: End): void {
    this.#ending.add(child);
    child.kill();
  }

  async #rinsed(child: End): Promise<boolean> {
    this.#resting++;
    const isFit = await this.#maker.rest?.(child);
    this.#resting--;
    return isFit === true;
  }

  /** Whether another owner is next and needs the room of this one. */
  #isWantedElse(owner: string): boolean {
    const first = this.#shares.next();
    return first !== undefined && first.owner !== owner && this.alive + 1 >= this.#options.most;
  }

  /** Starts the warm sandboxes. */
  warm(): void {
    this.#warming?.();
    this.#warming = undefined;
    const { warm } = this.#options;
    const lacking = this.#shares.wanted + warm - this.#ready.length - this.#starting;
    this.#startSome(Math.min(lacking, this.#options.startsAtOnce - this.#starting));
  }

  /** The number of unused sandboxes. */
  get ready(): number {
    return this.#ready.length;
  }

  get alive(): number {
    return this.#ready.length + this.#rested.length + this.#busy.size + this.#ending.size + this.#starting;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#warming?.();
    this.#shares.refuseAll(new Error("The sandboxes are closed."));
    const idle = [...this.#ready.splice(0), ...this.#rested.splice(0).map(({ child }) => child)];
    for (const child of idle) {
      child.idle(false); // keeps the host alive until the sandbox is gone
      child.kill();
    }
    await Promise.all(idle.map(({ gone }) => gone));
  }

  #serve(): void {
    for (;;) {
      const asking = this.#shares.next((owner) => this.#ready.length > 0 || this.#hasRested(owner));
      const child = asking && (this.#restedFor(asking.owner) ?? this.#ready.shift());
      if (asking === undefined || child === undefined) break;
      child.idle(false);
      this.#busy.set(child, asking.owner);
      this.#shares.serve(asking, child);
    }
    this.#fill();
  }

  #hasRested(owner: string | undefined): boolean {
    return owner !== undefined && this.#rested.some((rested) => rested.owner === owner);
  }

  /** The one that was used last, because its code is compiled. */
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

  #retire(child: End | undefined): void {
    if (child === undefined) return;
    this.#unrest(child);
    this.#endOf(child);
  }

  #unrest(child: End): void {
    const at = this.#rested.findIndex((rested) => rested.child === child);
    for (const { stay } of at < 0 ? [] : this.#rested.splice(at, 1)) stay();
  }

  /** Starts what waiting scripts need at once, and the warm ones a little later. */
  #fill(): void {
    const { warm, most } = this.#options;
    const { wanted } = this.#shares;
    const lacking = wanted - this.#resting - this.#ready.length - this.#starting; // sandboxes that are about to be free count
    this.#startSome(Math.min(lacking, this.#options.startsAtOnce - this.#starting));
    if (wanted > 0 && this.alive >= most) this.#retire(this.#rested[0]?.child); // frees room for another owner
    if (wanted === 0 && this.#ready.length + this.#starting < warm && !this.#closed)
      this.#warming ??= clock.in(warmAfterMs, () => this.warm(), false);
  }

  #startSome(count: number): void {
    if (this.#closed) return;
    const room = Math.min(count, this.#options.most - this.alive);
    for (let i = 0; i < room; i++) void this.#start();
  }

  async #start(): Promise<void> {
    this.#starting++;
    const started = await this.#started().catch((cause: unknown) => ({ cause }));
    this.#starting--;
    if ("cause" in started) this.#refuseNext(started.cause);
    else this.#keep(started);
    this.#serveAsked();
  }

  async #started(): Promise<End> {
    const child = await this.#maker.start();
    const { rehearsals = 0 } = this.#maker;
    for (let i = 0; i < rehearsals && this.#shares.wanted === 0; i++) await this.#maker.rehearse?.(child);
    return child;
  }

  /** The error goes to the first in the queue; the next one gets its own start. */
  #refuseNext(cause: unknown): void {
    const asking = this.#shares.next();
    if (asking !== undefined) this.#shares.refuse(asking, cause);
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

  /** Forgets one that ended or was killed. */
  #forget(child: End): void {
    const place = this.#ready.indexOf(child);
    if (place >= 0) this.#ready.splice(place, 1);
    this.#unrest(child);
    if (this.#letGo(child) || this.#ending.delete(child) || this.#shares.wanted > 0) this.#serve();
  }

  /** A failed start is not repeated for a warm sandbox. The next script starts one and gets the error. */
  #serveAsked(): void {
    if (this.#shares.wanted > 0 || this.#ready.length > 0) this.#serve();
  }
}

/** A pool of child processes. */
export class ChildPool extends SandboxPool<SandboxProcess> {
  constructor(spec: ChildSpec, options: PoolOptions) {
    const rehearse = (child: SandboxProcess): Promise<unknown> => child.ask({ do: "rehearse" }, longestRehearsalMs);
    const rest = async (child: SandboxProcess): Promise<boolean> =>
      (await child.rest()) && (measured(child.pid)?.cpuMs ?? 0) < mostCpuMs; // checked after the script, so no caller waits for it
    const start = (): Promise<SandboxProcess> => SandboxProcess.start(spec);
    super({ start, rest, rehearse, rehearsals: spec.rehearsals }, options);
  }
}

/**
 * Sandboxes that are ready before a script needs one.
 *
 * Invariant: never more than `most` alive, who comes later waits for one to end; and a sandbox that a script was in is for
 * scripts of the same owner alone, where its engine lets it be for another one at all.
 * Next: shares.ts (whose turn it is), session.ts (when a script gives its process back), ../../../../docs/decisions/0012-scripts-run-in-separate-processes.md.
 */
import { availableParallelism } from "node:os";
import { SystemClock } from "../../../calls/clock.ts";
import { type ChildSpec, SandboxProcess } from "./child-process.ts";
import { measured } from "./kernel-tells.ts";
import { type Asking, Shares } from "./shares.ts";

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
  /** What is done with a new one while nobody waits for it, and how often. */
  rehearse?(child: End): Promise<unknown>;
  readonly rehearsals?: number | undefined;
  /** Makes one forget its script. False: it is not fit for another. */
  rest?(child: End): Promise<boolean>;
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
/** Most scripts have ended by then, and the host has time for a start. */
const warmAfterMs = 50;
const longestRehearsalMs = 10_000;
/** Of a process, start included: it has a limit of the kernel's too, which must not come in the middle of a script. */
const mostCpuMs = 60_000;
const clock = new SystemClock(); // processes rest in real time

export class SandboxPool<End extends Pooled> implements AsyncDisposable {
  readonly #maker: Maker<End>;
  readonly #options: PoolOptions;
  readonly #ready: End[] = [];
  readonly #shares: Shares<End>;
  /** By whose script. */
  readonly #busy = new Map<End, string | undefined>();
  /** Killed, and not gone yet. */
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
   * @param owner whose script it is for: one that served this owner before may come, and owners take turns. Undefined: a new
   * one, and all such scripts are one owner's in the line
   * @param signal of whoever waits: once it is aborted, the place in the queue is given up
   * @throws Error when a process cannot be started, or nobody waits for it any more
   */
  take(owner?: string, signal?: AbortSignal): Promise<End> {
    if (this.#closed) return Promise.reject(new Error("The sandboxes are closed."));
    const { promise, resolve, reject } = Promise.withResolvers<End>();
    const asking: Asking<End> = { owner, give: resolve, fail: reject };
    this.#shares.add(asking);
    this.#serve();
    const leave = (): void => {
      if (this.#shares.remove(asking)) reject(new Error("Nobody waits for this sandbox any more."));
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

  /** It counts as alive until it is gone. */
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

  /** Whether it is another owner's turn, who can have none while this one is kept. */
  #isWantedElse(owner: string): boolean {
    const first = this.#shares.next();
    return first !== undefined && first.owner !== owner && this.alive + 1 >= this.#options.most;
  }

  /** Starts what shall be warm. */
  warm(): void {
    this.#warming?.();
    this.#warming = undefined;
    const { warm } = this.#options;
    const lacking = this.#shares.wanted + warm - this.#ready.length - this.#starting;
    this.#startSome(Math.min(lacking, this.#options.startsAtOnce - this.#starting));
  }

  /** Warm ones that wait for a script. */
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
      child.idle(false); // or the process could end before its close has
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

  #retire(child: End | undefined): void {
    if (child === undefined) return;
    this.#unrest(child);
    this.#endOf(child);
  }

  #unrest(child: End): void {
    const at = this.#rested.findIndex((rested) => rested.child === child);
    for (const { stay } of at < 0 ? [] : this.#rested.splice(at, 1)) stay();
  }

  /** As many as are asked for at once; what shall be warm besides, when whoever was served has got under way. */
  #fill(): void {
    const { warm, most } = this.#options;
    const { wanted } = this.#shares;
    const lacking = wanted - this.#resting - this.#ready.length - this.#starting; // what is about to be free need not be started
    this.#startSome(Math.min(lacking, this.#options.startsAtOnce - this.#starting));
    if (wanted > 0 && this.alive >= most) this.#retire(this.#rested[0]?.child); // another owner's makes room
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

  /** Whoever comes behind gets a start of their own. */
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

  /** It died while it was idle, was killed, or its script was. */
  #forget(child: End): void {
    const place = this.#ready.indexOf(child);
    if (place >= 0) this.#ready.splice(place, 1);
    this.#unrest(child);
    if (this.#letGo(child) || this.#ending.delete(child) || this.#shares.wanted > 0) this.#serve();
  }

  /** A start that failed is not repeated for warmth alone: the next script asks again, and hears why. */
  #serveAsked(): void {
    if (this.#shares.wanted > 0 || this.#ready.length > 0) this.#serve();
  }
}

/** Of processes of this machine. */
export class ChildPool extends SandboxPool<SandboxProcess> {
  constructor(spec: ChildSpec, options: PoolOptions) {
    const rehearse = (child: SandboxProcess): Promise<unknown> => child.ask({ do: "rehearse" }, longestRehearsalMs);
    const rest = async (child: SandboxProcess): Promise<boolean> =>
      (await child.rest()) && (measured(child.pid)?.cpuMs ?? 0) < mostCpuMs; // its script's caller waits for no look at it
    const start = (): Promise<SandboxProcess> => SandboxProcess.start(spec);
    super({ start, rest, rehearse, rehearsals: spec.rehearsals }, options);
  }
}

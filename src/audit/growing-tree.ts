import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../core/clock.ts";
import { messageOf, RuntimeFault } from "../core/fault.ts";
import { type Edge, Tree } from "./tree.ts";

export interface GrowingTreeOptions {
  readonly clock: Clock;
  /** Where to go on. */
  readonly edge: Edge | undefined;
  /** Its thread ended by itself: the tree is as large as when its edge was last asked for, and grows here from now on. */
  readonly lost: (why: string) => void;
}

/** A log is busy that had as many entries in as many milliseconds, so many times more often than not: starting a thread costs as much as they do. */
const busyEntries = 1000;
const busyMs = 200;
const busyTimes = 100;
/** So many bodies are sent at once: a message costs as much as hashing six of them. */
const mostUnsent = 128;

/**
 * The tree of a log that grows. Hashing costs a busy log a tenth or more of each call, so it moves to a thread of its own; a log
 * that is never busy starts none.
 *
 * Invariant: `edge` tells of every entry added before it was asked for, and of none added after.
 */
export class GrowingTree implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #lost: (why: string) => void;
  #here: Tree;
  /** What was last known of it. */
  #known: Edge;
  #knownAt: number;
  #size: number;
  #thread: Worker | undefined;
  #unsent: string[] = [];
  /** Who waits for an edge, in the order they asked. */
  #asked: PromiseWithResolvers<Edge>[] = [];
  #mayMove = true;
  #busy = 0;
  /** Its thread went with it: nobody knows its edge any more. */
  #isGone = false;

  constructor({ clock, edge, lost }: GrowingTreeOptions) {
    this.#clock = clock;
    this.#lost = lost;
    this.#here = new Tree(edge);
    this.#known = this.#here.edge();
    this.#knownAt = clock.monotonic();
    this.#size = this.#here.size;
  }

  get size(): number {
    return this.#size;
  }

  append(body: string): void {
    this.#size += 1;
    if (this.#thread === undefined) {
      this.#here.append(body);
      return;
    }
    this.#unsent.push(body);
    if (this.#unsent.length >= mostUnsent) this.#send(this.#thread);
  }

  /** @throws RuntimeFault `audit_unavailable` when its thread ends meanwhile (ask again), and when it is closed */
  async edge(): Promise<Edge> {
    const thread = this.#thread;
    if (this.#isGone) throw closed();
    if (thread === undefined) return this.#edgeHere();
    this.#send(thread);
    const asked = Promise.withResolvers<Edge>();
    this.#asked.push(asked);
    thread.ref(); // who asked is waiting; else it keeps no process alive
    thread.postMessage("edge");
    return asked.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const thread = this.#thread;
    this.#mayMove = false;
    if (thread === undefined) return;
    this.#thread = undefined;
    this.#isGone = true;
    this.#refuse(closed());
    await thread.terminate();
  }

  #edgeHere(): Edge {
    const [before, beganAt] = [this.#known.size, this.#knownAt];
    this.#known = this.#here.edge();
    this.#knownAt = this.#clock.monotonic();
    const isBusy = this.#size - before >= busyEntries && this.#knownAt - beganAt <= busyMs;
    this.#busy = isBusy ? this.#busy + 1 : Math.max(0, this.#busy - 1);
    if (this.#busy >= busyTimes && this.#mayMove) this.#move();
    return this.#known;
  }

  #move(): void {
    const own = new URL(`./tree-worker${extname(import.meta.url)}`, import.meta.url); // .ts in development, .js in the package
    const thread = new Worker(own, { workerData: this.#known, env: {}, execArgv: [] });
    thread.unref();
    thread.on("message", (edge: Edge) => this.#told(thread, edge));
    thread.on("error", (error) => this.#ended(thread, messageOf(error)));
    thread.on("exit", () => this.#ended(thread, "it ended"));
    this.#thread = thread;
  }

  #send(thread: Worker): void {
    if (this.#unsent.length === 0) return;
    thread.postMessage(this.#unsent);
    this.#unsent = [];
  }

  #told(thread: Worker, edge: Edge): void {
    this.#known = edge;
    this.#asked.shift()?.resolve(edge);
    if (this.#asked.length === 0) thread.unref();
  }

  #ended(thread: Worker, why: string): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    this.#mayMove = false;
    this.#unsent = [];
    this.#here = new Tree(this.#known);
    this.#size = this.#known.size;
    const fault = new RuntimeFault(
      "audit_unavailable",
      `The thread that hashes the audit log failed (${why}); ask again.`,
    );
    this.#refuse(fault);
    this.#lost(why);
  }

  #refuse(fault: RuntimeFault): void {
    for (const asked of this.#asked.splice(0)) asked.reject(fault);
  }
}

function closed(): RuntimeFault {
  return new RuntimeFault("audit_unavailable", "The audit log is closed.");
}

import { availableParallelism } from "node:os";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, messageOf, SystemClock } from "@postern/core";
import { sourceOptions } from "@postern/core/system";
import { FileRejection } from "../guard/rejection.ts";
import type { SearchAnswer, SearchJob, SearchResult } from "./job.ts";

export interface SearchLimits {
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

const mostWaiting = 64;

/** The threads of all searches. Each search runs on the least busy one. */
export class SearchThreads {
  readonly #threads: readonly SearchThread[];

  constructor(threads: number = Math.max(1, Math.min(4, availableParallelism()))) {
    this.#threads = Array.from({ length: threads }, () => new SearchThread());
  }

  /** @throws FileRejection */
  async run(job: SearchJob, limits: SearchLimits): Promise<SearchResult> {
    const thread = this.#threads.reduce((best, one) => (one.waiting < best.waiting ? one : best));
    if (thread.waiting >= mostWaiting) throw new FileRejection("busy");
    return thread.run(job, limits);
  }
}

/**
 * One worker that runs one search at a time. Each search ends at its limit: then the worker is terminated, which closes
 * its descriptors, and the next search gets a new worker.
 */
class SearchThread {
  /** A worker needs real time, also if a test's clock stands still. */
  readonly #clock: Clock = new SystemClock();
  #worker: Worker | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /** @throws FileRejection `search_stopped` at the limit, or the rejection of the search itself */
  run(job: SearchJob, limits: SearchLimits): Promise<SearchResult> {
    this.#waiting += 1;
    const turn = this.#queue
      .then(() => this.#one(job, limits))
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#queue = turn.catch(() => undefined); // its own caller gets the error
    return turn;
  }

  async #one(job: SearchJob, { limitMs, signal }: SearchLimits): Promise<SearchResult> {
    signal.throwIfAborted();
    this.#worker ??= await this.#start();
    const worker = this.#worker;
    const answered = Promise.withResolvers<SearchAnswer>();
    const stop = (error: unknown): void => answered.reject(error);
    const onAbort = (): void => stop(signal.reason);
    const onExit = (): void => stop(new FileRejection("search_stopped"));
    const disarm = this.#clock.in(limitMs, () =>
      stop(
        new FileRejection(
          "search_stopped",
          `was not searched to the end: it took longer than ${limitMs} ms. Search a smaller part, or with a simpler pattern.`,
        ),
      ),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    worker.once("message", answered.resolve).once("error", stop).once("exit", onExit).ref();
    try {
      worker.postMessage(job);
      return foundIn(await answered.promise);
    } catch (error) {
      if (!(error instanceof FileRejection) || error.reason === "search_stopped") await this.#drop(worker);
      throw error;
    } finally {
      disarm();
      signal.removeEventListener("abort", onAbort);
      worker.off("message", answered.resolve).off("error", stop).off("exit", onExit).unref();
    }
  }

  async #start(): Promise<Worker> {
    const own = new URL(`../search-worker${extname(import.meta.url)}`, import.meta.url); // .ts in development, .js in the package
    const worker = new Worker(own, {
      env: {},
      execArgv: [...sourceOptions],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const ready = Promise.withResolvers<void>();
    worker.once("message", () => ready.resolve());
    worker.once("error", (error) =>
      ready.reject(new FileRejection("busy", `cannot be searched: ${messageOf(error)}.`)),
    );
    await ready.promise;
    worker.removeAllListeners("error").on("error", () => {}); // `exit` reports it, and the next search starts another worker
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  /** Resolves when the worker has ended: until then it may use the root. */
  async #drop(worker: Worker): Promise<void> {
    if (this.#worker === worker) this.#worker = undefined;
    await worker.terminate();
  }
}

function foundIn(answer: SearchAnswer): SearchResult {
  if ("found" in answer) return answer.found;
  if ("rejected" in answer) throw new FileRejection(answer.rejected, answer.detail);
  throw new FileRejection("search_stopped", "broken" in answer ? `was not searched: ${answer.broken}.` : undefined);
}

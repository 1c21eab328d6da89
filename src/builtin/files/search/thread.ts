import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, SystemClock } from "../../../core/clock.ts";
import { messageOf } from "../../../core/fault.ts";
import { FileRejection } from "../guard/rejection.ts";
import type { SearchAnswer, SearchJob, SearchResult } from "./job.ts";

export interface SearchLimits {
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/**
 * One worker for searches, one at a time. Whatever a search does, it ends at its limit: then the worker is killed, which
 * also closes the descriptors it had opened, and the next search gets a new one.
 */
export class SearchThread {
  /** A worker burns real time, also where a test's clock stands still. */
  readonly #clock: Clock = new SystemClock();
  #worker: Worker | undefined;
  #line: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get waiting(): number {
    return this.#waiting;
  }

  /** @throws Rejection `search_stopped` at the limit, or what the search itself was refused for */
  run(job: SearchJob, limits: SearchLimits): Promise<SearchResult> {
    this.#waiting += 1;
    const turn = this.#line
      .then(() => this.#one(job, limits))
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#line = turn.catch(() => undefined); // its own caller hears of it
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
    const worker = new Worker(own, { env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 256 } });
    const ready = Promise.withResolvers<void>();
    worker.once("message", () => ready.resolve());
    worker.once("error", (error) =>
      ready.reject(new FileRejection("busy", `cannot be searched: ${messageOf(error)}.`)),
    );
    await ready.promise;
    worker.removeAllListeners("error").on("error", () => {}); // it ends: `exit` tells who waits, and the next search starts another
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  /** Killed before anybody goes on: until then it may use the root it was lent. */
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

import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, SystemClock } from "../calls/clock.ts";
import { messageOf } from "../calls/fault.ts";
import type { JsonObject } from "../calls/json.ts";
import type { VettedSchema } from "./preflight.ts";
import type { SchemaAnswer, SchemaJob } from "./schema-worker.ts";
import type { Issue } from "./tool.ts";

export interface SchemaThreadOptions {
  /** What one check may take. */
  readonly deadlineMs?: number;
  /** How many may wait; further ones are answered at once. */
  readonly maxWaiting?: number;
}

interface Waiting {
  readonly vetted: VettedSchema;
  readonly value: JsonObject;
  readonly done: (issues: readonly Issue[]) => void;
}

/**
 * One worker for everything whose check may take long. It has one value at a time, so that it is known which one hung;
 * then it is killed and the next value gets a new one. Schemas take turns: a slow one delays the others by one deadline.
 *
 * Invariant: every value is answered, also when the worker hangs, dies or cannot be started.
 */
export class SchemaThread {
  readonly #deadlineMs: number;
  readonly #maxWaiting: number;
  /** A worker burns real time, also where a test's clock stands still. */
  readonly #clock: Clock = new SystemClock();
  readonly #queues = new Map<string, Waiting[]>();
  #waiting = 0;
  #worker: Worker | undefined;
  #ready = false;
  #known = new Set<string>();
  #current: Waiting | undefined;
  #disarm: (() => void) | undefined;

  constructor({ deadlineMs = 250, maxWaiting = 256 }: SchemaThreadOptions = {}) {
    this.#deadlineMs = deadlineMs;
    this.#maxWaiting = maxWaiting;
  }

  check(vetted: VettedSchema, value: JsonObject): Promise<readonly Issue[]> {
    if (this.#waiting >= this.#maxWaiting)
      return Promise.resolve(unchecked("too many checks are waiting; try again later"));
    return new Promise((done) => {
      const queue = this.#queues.get(vetted.digest);
      const waiting: Waiting = { vetted, value, done };
      if (queue === undefined) this.#queues.set(vetted.digest, [waiting]);
      else queue.push(waiting);
      this.#waiting += 1;
      this.#next();
    });
  }

  /** Ends the worker; who still waits is answered. */
  async close(): Promise<void> {
    this.#failAll("the runtime is closing");
    await this.#drop()?.terminate();
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting === 0) return;
    this.#worker ??= this.#start();
    if (!this.#ready) return;
    const job = this.#take();
    if (job === undefined) return;
    this.#current = job;
    this.#disarm = this.#clock.in(this.#deadlineMs, () => this.#hung());
    this.#worker.ref();
    this.#send(this.#worker, job);
  }

  /** The oldest of the schema whose turn it is; that schema goes to the end of the line. */
  #take(): Waiting | undefined {
    for (const [digest, queue] of this.#queues) {
      this.#queues.delete(digest);
      const job = queue.shift();
      if (queue.length > 0) this.#queues.set(digest, queue);
      this.#waiting -= 1;
      return job;
    }
    return undefined;
  }

  #send(worker: Worker, { vetted, value }: Waiting): void {
    const { digest, schema, dialect } = vetted;
    const job: SchemaJob = this.#known.has(digest)
      ? { digest, value }
      : { digest, value, schema: { schema, dialect, digest } };
    this.#known.add(digest);
    try {
      worker.postMessage(job);
    } catch (error) {
      this.#answer(unchecked(messageOf(error))); // it holds what cannot be sent: no JSON
    }
  }

  #start(): Worker {
    const own = new URL(`./schema-worker${extname(import.meta.url)}`, import.meta.url); // .ts in development, .js in the package
    const worker = new Worker(own, {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    worker.on("message", (answer: SchemaAnswer) => {
      if (worker !== this.#worker) return; // what a killed one still said
      if ("ready" in answer) this.#ready = true;
      else this.#answer(answer.issues);
      this.#next();
    });
    worker.on("error", (error) => this.#died(worker, messageOf(error)));
    worker.on("exit", () => this.#died(worker, "the checker ended"));
    return worker;
  }

  #hung(): void {
    void this.#drop()?.terminate();
    this.#answer(unchecked(`it took longer than ${this.#deadlineMs} ms`));
    this.#next();
  }

  #died(worker: Worker, why: string): void {
    if (worker !== this.#worker) return;
    const started = this.#ready;
    this.#drop();
    this.#answer(unchecked(why));
    if (started) this.#next();
    else this.#failAll(why); // one that cannot be started would not start the next time either
  }

  #drop(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#ready = false;
    this.#known = new Set();
    return worker;
  }

  #answer(issues: readonly Issue[]): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const answered = this.#current;
    this.#current = undefined;
    this.#worker?.unref();
    answered?.done(issues);
  }

  #failAll(why: string): void {
    this.#answer(unchecked(why));
    for (const { done } of [...this.#queues.values()].flat()) done(unchecked(why));
    this.#queues.clear();
    this.#waiting = 0;
  }
}

/** Not checked is not valid. */
function unchecked(why: string): readonly Issue[] {
  return [{ path: [], message: `The arguments could not be checked: ${why}.` }];
}

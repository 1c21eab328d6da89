import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { type Clock, type JsonObject, messageOf, SystemClock } from "@postern/core";
import { sourceOptions } from "@postern/core/system";
import type { VettedSchema } from "./preflight.ts";
import type { SchemaAnswer, SchemaJob, SchemaResult } from "./schema-worker.ts";

export interface SchemaThreadOptions {
  /** The longest time of one check. */
  readonly deadlineMs?: number;
  /** How many checks may wait. Further ones fail at once. */
  readonly maxWaiting?: number;
}

interface WaitingCheck {
  readonly vetted: VettedSchema;
  /** Left out if the schema is only to be compiled. */
  readonly value?: JsonObject;
  readonly done: (checked: SchemaResult) => void;
}

/** The longest time to compile one schema, before the first value of it is checked too. */
const compileMs = 5_000;

/**
 * One worker for every check that may take long. It checks one value at a time. If a value takes too long, the worker is
 * killed and the next value gets a new one. Schemas take turns, so a slow one delays the others by one deadline.
 *
 * Invariant: every value gets an answer, even if the worker hangs, dies or cannot be started.
 */
export class SchemaThread {
  readonly #deadlineMs: number;
  readonly #maxWaiting: number;
  /** A worker uses real time, also if the clock of a test does not advance. */
  readonly #clock: Clock = new SystemClock();
  readonly #queues = new Map<string, WaitingCheck[]>();
  /** Schemas to compile; values that wait to be checked come before them. */
  readonly #compiles: WaitingCheck[] = [];
  #waiting = 0;
  #worker: Worker | undefined;
  #ready = false;
  #known = new Set<string>();
  #current: WaitingCheck | undefined;
  #disarm: (() => void) | undefined;

  constructor({ deadlineMs = 250, maxWaiting = 256 }: SchemaThreadOptions = {}) {
    this.#deadlineMs = deadlineMs;
    this.#maxWaiting = maxWaiting;
  }

  /** Resolves to why the schema cannot be used, or to undefined if it can. */
  async compile(vetted: VettedSchema): Promise<string | undefined> {
    const compiled = await new Promise<SchemaResult>((done) => {
      this.#compiles.push({ vetted, done });
      this.#next();
    });
    return "unusable" in compiled ? compiled.unusable : undefined;
  }

  check(vetted: VettedSchema, value: JsonObject): Promise<SchemaResult> {
    if (this.#waiting >= this.#maxWaiting)
      return Promise.resolve(unchecked("too many checks are waiting; try again later"));
    return new Promise((done) => {
      const queue = this.#queues.get(vetted.digest);
      const waiting: WaitingCheck = { vetted, value, done };
      if (queue === undefined) this.#queues.set(vetted.digest, [waiting]);
      else queue.push(waiting);
      this.#waiting += 1;
      this.#next();
    });
  }

  /** Ends the worker. Checks that still wait get an answer. */
  async close(): Promise<void> {
    this.#failAll("the runtime is closing");
    await this.#drop()?.terminate();
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting + this.#compiles.length === 0) return;
    this.#worker ??= this.#start();
    if (!this.#ready) return;
    const job = this.#take() ?? this.#compiles.shift();
    if (job === undefined) return;
    this.#current = job;
    const isCheck = job.value !== undefined && this.#known.has(job.vetted.digest);
    this.#limit(isCheck ? this.#deadlineMs : compileMs);
    this.#worker.ref();
    this.#send(this.#worker, job);
  }

  /** If this thread was busy at the end of the limit, an answer may have come meanwhile: it is read first. */
  #limit(limitMs: number): void {
    this.#disarm?.();
    let isOver = false;
    const cancel = this.#clock.in(limitMs, () => setImmediate(() => !isOver && this.#hung(limitMs)));
    this.#disarm = () => {
      isOver = true;
      cancel();
    };
  }

  /** The oldest value of the schema whose turn it is. That schema goes to the end of the queue. */
  #take(): WaitingCheck | undefined {
    for (const [digest, queue] of this.#queues) {
      this.#queues.delete(digest);
      const job = queue.shift();
      if (queue.length > 0) this.#queues.set(digest, queue);
      this.#waiting -= 1;
      return job;
    }
    return undefined;
  }

  #send(worker: Worker, { vetted, value }: WaitingCheck): void {
    const { digest, schema, dialect } = vetted;
    const whole = { schema, dialect, digest };
    const job: SchemaJob =
      value === undefined
        ? { digest, schema: whole }
        : { digest, value, ...(!this.#known.has(digest) && { schema: whole }) };
    try {
      worker.postMessage(job);
      if (value !== undefined) this.#known.add(digest);
    } catch (error) {
      this.#answer(unchecked(messageOf(error))); // the value cannot be sent, so it is no JSON
    }
  }

  #start(): Worker {
    const own = new URL(`./schema-worker${extname(import.meta.url)}`, import.meta.url); // .ts in development, .js in the package
    const worker = new Worker(own, {
      env: {},
      execArgv: [...sourceOptions],
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    worker.on("message", (answer: SchemaAnswer) => {
      if (worker !== this.#worker) return; // a message of a killed worker
      if ("compiled" in answer) return this.#limit(this.#deadlineMs);
      if ("ready" in answer) this.#ready = true;
      else this.#answer(answer);
      this.#next();
    });
    worker.on("error", (error) => this.#died(worker, messageOf(error)));
    worker.on("exit", () => this.#died(worker, "the checker ended"));
    return worker;
  }

  #hung(limitMs: number): void {
    void this.#drop()?.terminate();
    this.#answer(unchecked(`it took longer than ${limitMs} ms`));
    this.#next();
  }

  #died(worker: Worker, why: string): void {
    if (worker !== this.#worker) return;
    const started = this.#ready;
    this.#drop();
    this.#answer(unchecked(why));
    if (started) this.#next();
    else this.#failAll(why); // a worker that cannot start once cannot start again
  }

  #drop(): Worker | undefined {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#ready = false;
    this.#known = new Set();
    return worker;
  }

  #answer(checked: SchemaResult): void {
    this.#disarm?.();
    this.#disarm = undefined;
    const answered = this.#current;
    this.#current = undefined;
    this.#worker?.unref();
    const isCompile = answered !== undefined && answered.value === undefined;
    const failed = isCompile && "issues" in checked ? checked.issues[0]?.message : undefined;
    answered?.done(failed === undefined ? checked : { unusable: failed });
  }

  #failAll(why: string): void {
    this.#answer(unchecked(why));
    for (const { done } of [...this.#queues.values()].flat()) done(unchecked(why));
    for (const { done } of this.#compiles.splice(0)) done({ unusable: why });
    this.#queues.clear();
    this.#waiting = 0;
  }
}

/** A value that was not checked is not valid. */
function unchecked(why: string): SchemaResult {
  return { issues: [{ path: [], message: `The arguments could not be checked: ${why}.` }] };
}

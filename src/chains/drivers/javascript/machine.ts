/**
 * QuickJS in its WebAssembly module: one module a script, thrown away with it.
 *
 * The only things it can reach are a clock and a stop. Everything else that its import list names answers "no".
 */
import { createHash } from "node:crypto";
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS, type Snapshot, type WasiOptions } from "quickjs-wasi";
import type { Slots } from "./image.ts";
import { preludeName, preludeSource } from "./prelude.ts";

export type Overtime = "cpu" | "wall";

interface Mailbox {
  readonly settle: JSValueHandle;
  readonly drain: JSValueHandle;
  readonly tick: JSValueHandle;
  readonly follow: JSValueHandle;
}

/** The engine was stopped in the middle of something. */
export class Stopped extends Error {
  readonly why: Overtime;

  constructor(why: Overtime) {
    super(why);
    this.why = why;
  }
}

const pristineBytes = 8 * 1024 * 1024;
const jobsBetweenLooks = 64;
const microsecondsPerMs = 1_000;

/** An engine with its mailbox and its deadlines. */
export class Machine {
  readonly #vm: QuickJS;
  readonly #mailbox: Mailbox;
  readonly #watch: Deadlines;

  private constructor(vm: QuickJS, mailbox: Mailbox, watch: Deadlines) {
    this.#vm = vm;
    this.#mailbox = mailbox;
    this.#watch = watch;
  }

  /** @param seed what `Math.random` is made of: the same script meets the same numbers when it is replayed */
  static async create(wasm: WebAssembly.Module, memoryLimit: number, seed: string, setting: string): Promise<Machine> {
    const watch = new Deadlines();
    const clock = new Clock(seed);
    const vm = await QuickJS.create({ ...optionsOf(wasm, memoryLimit, watch), wasi: clock.wasi });
    clock.isReal = true;
    const prelude = vm.evalCode(preludeSource, preludeName, EvalFlags.TYPE_GLOBAL);
    const slots = vm.callFunction(prelude, vm.undefined, vm.newString(setting));
    const slot = (name: string): JSValueHandle => slots.getProp(name);
    const mailbox = { settle: slot("settle"), drain: slot("drain"), tick: slot("tick"), follow: slot("follow") };
    return new Machine(vm, mailbox, watch);
  }

  /** One that has run nothing: its memory is the same bytes wherever the same engine is. */
  static pristine(wasm: WebAssembly.Module): Promise<Machine> {
    return Machine.create(wasm, pristineBytes, "pristine", JSON.stringify({ names: [], outputBytes: 0 }));
  }

  static async restore(
    wasm: WebAssembly.Module,
    memoryLimit: number,
    snapshot: Snapshot,
    slots: Slots,
  ): Promise<Machine> {
    const watch = new Deadlines();
    const vm = await QuickJS.restore(snapshot, { ...optionsOf(wasm, memoryLimit, watch), wasi: realTime });
    const slot = (place: number): JSValueHandle => vm.importHandle(place);
    const { settle, drain, tick, follow } = slots;
    const mailbox = { settle: slot(settle), drain: slot(drain), tick: slot(tick), follow: slot(follow) };
    return new Machine(vm, mailbox, watch);
  }

  /** Milliseconds from now. */
  allow(cpuMs: number, wallMs: number): void {
    this.#watch.set(cpuMs, wallMs);
  }

  get leftMs(): number {
    return this.#watch.leftMs;
  }

  /** Compiles and begins. @throws JSException when it does not parse */
  run(code: string, file: string): void {
    const promise = this.#vm.evalCode(code, file, EvalFlags.TYPE_GLOBAL | EvalFlags.ASYNC);
    this.#call(this.#mailbox.follow, promise).dispose();
    promise.dispose();
  }

  settle(results: string): void {
    const text = this.#vm.newString(results);
    this.#call(this.#mailbox.settle, text).dispose();
    text.dispose();
  }

  /** Everything that can run now, has run. @throws Stopped */
  runJobs(): void {
    const engine = this.#vm._getExports(); // the public loop runs until there is no job, and a job can always make another
    for (let done = 1; engine.qjs_is_job_pending() !== 0; done++) {
      if (engine.qjs_execute_pending_job() < 0) {
        this.#vm.getException().dispose();
        this.#watch.check();
      }
      if (done % jobsBetweenLooks === 0) this.#watch.check();
    }
    this.#watch.check();
  }

  /** Runs the timers that are due. */
  tick(): void {
    this.#call(this.#mailbox.tick).dispose();
  }

  /** Which of its times is over. */
  get overtime(): Overtime | undefined {
    return this.#watch.over;
  }

  /** What is in the mailbox, whatever time is left: the host shall hear it. */
  drain(): string {
    return this.#watch.without(() => this.#call(this.#mailbox.drain).consume((text) => text.toString()));
  }

  freeze(): { readonly snapshot: Snapshot; readonly slots: Slots } {
    this.#vm.runGC();
    const { settle, drain, tick, follow } = this.#mailbox;
    const place = (handle: JSValueHandle): number => this.#vm.exportHandle(handle);
    const slots = { settle: place(settle), drain: place(drain), tick: place(tick), follow: place(follow) };
    return { snapshot: this.#vm.snapshot(), slots };
  }

  #call(slot: JSValueHandle, ...given: readonly JSValueHandle[]): JSValueHandle {
    try {
      return this.#vm.callFunction(slot, this.#vm.undefined, ...given);
    } catch (error) {
      this.#watch.check(); // it was stopped: that is the cause
      throw error;
    }
  }
}

/** Processor time of this thread, and time on the wall. */
class Deadlines {
  #cpu = 0;
  #wall = Number.POSITIVE_INFINITY;
  #off = true;

  set(cpuMs: number, wallMs: number): void {
    this.#cpu = usedMs() + cpuMs;
    this.#wall = performance.now() + wallMs;
    this.#off = false;
  }

  get over(): Overtime | undefined {
    if (this.#off) return undefined;
    if (usedMs() > this.#cpu) return "cpu";
    return performance.now() > this.#wall ? "wall" : undefined;
  }

  get leftMs(): number {
    return Math.max(0, this.#wall - performance.now());
  }

  check(): void {
    const why = this.over;
    if (why !== undefined) throw new Stopped(why);
  }

  without<T>(work: () => T): T {
    const before = this.#off;
    this.#off = true;
    try {
      return work();
    } finally {
      this.#off = before;
    }
  }
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / microsecondsPerMs;
}

/** The engine seeds its random numbers from the clock, once, when it is made. */
class Clock {
  isReal = false;
  readonly #seed: bigint;

  constructor(seed: string) {
    this.#seed = createHash("sha256").update(seed).digest().readBigUInt64LE() >> 1n;
  }

  readonly wasi: WasiOptions = (memory) => ({
    ...realTime(memory),
    clock_time_get: (_clock: number, _precision: bigint, at: number) =>
      writeTime(memory, at, this.isReal ? nanoseconds() : this.#seed),
  });
}

const notSupported = 52;
const realTime: WasiOptions = (memory) => ({
  clock_time_get: (_clock: number, _precision: bigint, at: number) => writeTime(memory, at, nanoseconds()),
  fd_write: () => notSupported, // the pipe to the host is no console of the engine
  random_get: () => notSupported,
});

function nanoseconds(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

function writeTime(memory: WebAssembly.Memory, at: number, time: bigint): number {
  new DataView(memory.buffer).setBigUint64(at, time, true);
  return 0;
}

function optionsOf(wasm: WebAssembly.Module, memoryLimit: number, watch: Deadlines) {
  return {
    wasm,
    memoryLimit,
    maxStackSize: MAX_STACK_SIZE,
    interruptHandler: () => watch.over !== undefined,
    timezoneOffset: 0,
  };
}

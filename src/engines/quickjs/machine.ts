/**
 * QuickJS as WebAssembly: each script has its own instance and memory.
 *
 * It can reach a clock and a stop. Its other imports return an error.
 * Next: template.ts (its first memory), deadlines.ts (its limits), inside-quickjs.ts (its driver).
 */
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS, type Snapshot } from "quickjs-wasi";
import type { Json } from "../../core/json.ts";
import { Deadlines, type Overtime } from "./deadlines.ts";
import type { Slots } from "./image.ts";
import { MachineText } from "./machine-text.ts";
import { ScriptClock } from "./script-clock.ts";
import { type EngineModules, scriptTime } from "./template.ts";

interface Mailbox {
  readonly settle: JSValueHandle;
  readonly drain: JSValueHandle;
  readonly tick: JSValueHandle;
  readonly follow: JSValueHandle;
  readonly begin: JSValueHandle;
  readonly notice: JSValueHandle;
}

const jobsBetweenLooks = 64;
/** The process that started this one. Another number later means that the host has died. */
const hostPid = process.ppid;

type PromiseRejection = readonly [promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean];

/** An engine, the functions of its prelude, and its deadlines. */
export class QuickJsMachine {
  readonly #vm: QuickJS;
  readonly #mailbox: Mailbox;
  readonly #text: MachineText;
  readonly #watch: Deadlines;
  readonly clock: ScriptClock;

  private constructor(vm: QuickJS, slots: Slots, { watch, clock }: { watch: Deadlines; clock: ScriptClock }) {
    this.clock = clock;
    this.#vm = vm;
    this.#text = new MachineText(vm);
    const slot = (place: number): JSValueHandle => vm.importHandle(place);
    const { settle, drain, tick, follow, begin, notice } = slots;
    const ends = { tick: slot(tick), follow: slot(follow), begin: slot(begin), notice: slot(notice) };
    this.#mailbox = { settle: slot(settle), drain: slot(drain), ...ends };
    this.#watch = watch;
  }

  /** Starts one from a template or from a frozen script. */
  static async restore(engine: EngineModules, snapshot: Snapshot, slots: Slots): Promise<QuickJsMachine> {
    const watch = new Deadlines();
    const clock = new ScriptClock();
    let machine: QuickJsMachine | undefined;
    const onUnhandledRejection = (...rejection: PromiseRejection): void => {
      if (machine !== undefined) machine.#notice(...rejection);
    };
    const vm = await QuickJS.restore(snapshot, { ...optionsOf(engine, watch, clock), onUnhandledRejection });
    machine = new QuickJsMachine(vm, slots, { watch, clock });
    return machine;
  }

  limit(memoryBytes: number): void {
    this.#vm._getExports().qjs_set_memory_limit(memoryBytes);
  }

  /** @param seed four numbers that `Math.random` is made of */
  seed(seed: readonly Json[]): void {
    this.#say(this.#mailbox.begin, JSON.stringify(seed));
  }

  /** The size of its memory. */
  get bytes(): number {
    return this.#vm._getExports().memory.buffer.byteLength;
  }

  /** Starts a turn with this many milliseconds. */
  allow(cpuMs: number, wallMs: number): void {
    this.#watch.set(cpuMs, wallMs);
  }

  /** Ends the turn. */
  pause(): void {
    this.#watch.pause();
  }

  get leftMs(): number {
    return this.#watch.leftMs;
  }

  /** Compiles and starts a script. @throws JSException when it does not parse */
  run(code: string, file: string): void {
    const promise = this.#vm.evalCode(code, file, EvalFlags.TYPE_GLOBAL | EvalFlags.ASYNC);
    this.#call(this.#mailbox.follow, promise).dispose();
    promise.dispose();
  }

  settle(results: string): void {
    this.#say(this.#mailbox.settle, results);
  }

  /** Runs all pending jobs. @throws Stopped */
  runJobs(): void {
    const engine = this.#vm._getExports(); // the public loop cannot be stopped, and a job can always add another
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

  /** The limit that is passed, if any. */
  get overtime(): Overtime | undefined {
    return this.#watch.over;
  }

  /** The script's message for the host. It is read even when the time is over. */
  drain(): string {
    return this.#watch.without(() => this.#stopping(() => this.#text.ask(this.#mailbox.drain)));
  }

  freeze(): { readonly snapshot: Snapshot; readonly slots: Slots } {
    this.#text.free();
    this.#vm.runGC();
    const { settle, drain, tick, follow, begin, notice } = this.#mailbox;
    const place = (handle: JSValueHandle): number => this.#vm.exportHandle(handle);
    const ends = { tick: place(tick), follow: place(follow), begin: place(begin), notice: place(notice) };
    const slots = { settle: place(settle), drain: place(drain), ...ends };
    return { snapshot: this.#vm.snapshot(), slots };
  }

  /** Reports a failed promise without a handler, or a handler that was added later, to the prelude. */
  #notice(promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean): void {
    try {
      const handled = isHandled ? this.#vm.true : this.#vm.false;
      const result = this.#vm.callFunction(this.#mailbox.notice, this.#vm.undefined, promise, reason, handled);
      if (result.consume((isSpent) => isSpent.toBoolean())) this.#watch.spend();
    } catch {
      // The script's time or memory is used up. Another place reports that.
    }
  }

  #say(slot: JSValueHandle, words: string): void {
    this.#stopping(() => this.#text.say(slot, words));
  }

  #call(slot: JSValueHandle, ...given: readonly JSValueHandle[]): JSValueHandle {
    return this.#stopping(() => this.#vm.callFunction(slot, this.#vm.undefined, ...given));
  }

  #stopping<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#watch.check(); // a stop is the real cause
      throw error;
    }
  }
}

function optionsOf({ wasm, extensions }: EngineModules, watch: Deadlines, clock: ScriptClock) {
  return {
    wasm,
    extensions,
    maxStackSize: MAX_STACK_SIZE,
    interruptHandler: () => {
      if (process.ppid !== hostPid) process.exit(0); // the host is gone, and this loop may have no end
      return watch.over !== undefined;
    },
    timezoneOffset: 0,
    wasi: scriptTime(clock),
  };
}

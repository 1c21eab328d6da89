/**
 * QuickJS in its WebAssembly module: one instance a script, with a memory of its own, thrown away with it.
 *
 * The only things it can reach are a clock and a stop. Everything else that its import list names answers "no".
 * Next: template.ts (the memory it begins with), deadlines.ts (what stops it), inside-quickjs.ts (who drives it).
 */
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS, type Snapshot } from "quickjs-wasi";
import type { Json } from "../../../calls/json.ts";
import { Deadlines, type Overtime } from "./deadlines.ts";
import type { Slots } from "./image.ts";
import { MachineText } from "./machine-text.ts";
import { ScriptClock } from "./script-clock.ts";
import { type EngineModules, told } from "./template.ts";

interface Mailbox {
  readonly settle: JSValueHandle;
  readonly drain: JSValueHandle;
  readonly tick: JSValueHandle;
  readonly follow: JSValueHandle;
  readonly begin: JSValueHandle;
  readonly notice: JSValueHandle;
}

const jobsBetweenLooks = 64;

type Rejection = readonly [promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean];

/** An engine with its mailbox and its deadlines. */
export class Machine {
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

  /** Thaws one, or makes one of a template's memory, which a script has not touched. */
  static async restore(engine: EngineModules, snapshot: Snapshot, slots: Slots): Promise<Machine> {
    const watch = new Deadlines();
    const clock = new ScriptClock();
    let machine: Machine | undefined;
    const onUnhandledRejection = (...said: Rejection): void => {
      if (machine !== undefined) machine.#notice(...said);
    };
    const vm = await QuickJS.restore(snapshot, { ...optionsOf(engine, watch, clock), onUnhandledRejection });
    machine = new Machine(vm, slots, { watch, clock });
    return machine;
  }

  limit(memoryBytes: number): void {
    this.#vm._getExports().qjs_set_memory_limit(memoryBytes);
  }

  /** @param seed four numbers that `Math.random` is made of */
  seed(seed: readonly Json[]): void {
    this.#say(this.#mailbox.begin, JSON.stringify(seed));
  }

  /** What its memory has grown to. */
  get bytes(): number {
    return this.#vm._getExports().memory.buffer.byteLength;
  }

  /** A turn begins, of so many milliseconds. */
  allow(cpuMs: number, wallMs: number): void {
    this.#watch.set(cpuMs, wallMs);
  }

  /** It is over. */
  pause(): void {
    this.#watch.pause();
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
    this.#say(this.#mailbox.settle, results);
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

  /** A promise failed and nobody had asked for it, or somebody asks after all. It is the script that remembers which. */
  #notice(promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean): void {
    try {
      const heard = isHandled ? this.#vm.true : this.#vm.false;
      const said = this.#vm.callFunction(this.#mailbox.notice, this.#vm.undefined, promise, reason, heard);
      if (said.consume((isSpent) => isSpent.toBoolean())) this.#watch.spend();
    } catch {
      // The script's time or memory is over: that is told, and ends it.
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
      this.#watch.check(); // it was stopped: that is the cause
      throw error;
    }
  }
}

function optionsOf({ wasm, extensions }: EngineModules, watch: Deadlines, clock: ScriptClock) {
  return {
    wasm,
    extensions,
    maxStackSize: MAX_STACK_SIZE,
    interruptHandler: () => watch.over !== undefined,
    timezoneOffset: 0,
    wasi: told(clock),
  };
}

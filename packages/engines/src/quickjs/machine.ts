/**
 * QuickJS as WebAssembly: each script has its own instance and memory.
 *
 * It can reach a clock and a stop. Its other imports return an error.
 * Next: template.ts (its first memory), deadlines.ts (its limits), inside-quickjs.ts (its driver).
 */

import type { Json } from "@postern/core";
import { EvalFlags, type JSValueHandle, MAX_STACK_SIZE, QuickJS, type Snapshot } from "quickjs-wasi";
import { Deadlines } from "./deadlines.ts";
import { type Slots, slotsOf } from "./image.ts";
import { ScriptClock } from "./script-clock.ts";
import { type EngineModules, imports } from "./template.ts";

const jobsBetweenLooks = 64;
/** The process that started this one. Another number later means that the host has died. */
const hostPid = process.ppid;

type PromiseRejection = readonly [promise: JSValueHandle, reason: JSValueHandle, isHandled: boolean];

/** An engine, the functions of its prelude, and its deadlines. */
export class QuickJsMachine {
  readonly clock: ScriptClock;
  readonly deadlines: Deadlines;
  readonly #vm: QuickJS;
  readonly #mailbox: Slots<JSValueHandle>;

  private constructor(vm: QuickJS, slots: Slots, { clock, deadlines }: { clock: ScriptClock; deadlines: Deadlines }) {
    this.#vm = vm;
    this.clock = clock;
    this.deadlines = deadlines;
    this.#mailbox = slotsOf((name) => vm.importHandle(slots[name]));
  }

  /** Starts one from a template or from a frozen script. */
  static async restore(engine: EngineModules, snapshot: Snapshot, slots: Slots): Promise<QuickJsMachine> {
    const deadlines = new Deadlines();
    const clock = new ScriptClock();
    let machine: QuickJsMachine | undefined;
    const vm = await QuickJS.restore(snapshot, {
      ...engine,
      maxStackSize: MAX_STACK_SIZE,
      timezoneOffset: 0,
      wasi: imports(() => clock.look()),
      interruptHandler: () => {
        if (process.ppid !== hostPid) process.exit(0); // the host is gone, and this loop may have no end
        return deadlines.over !== undefined;
      },
      onUnhandledRejection: (...rejection: PromiseRejection) => {
        if (machine !== undefined) machine.#notice(...rejection);
      },
    });
    machine = new QuickJsMachine(vm, slots, { clock, deadlines });
    return machine;
  }

  limit(memoryBytes: number): void {
    this.#vm._getExports().qjs_set_memory_limit(memoryBytes);
  }

  /** @param seed four numbers that `Math.random` is made of */
  seed(seed: readonly Json[]): void {
    this.#call("begin", this.#vm.newString(JSON.stringify(seed))).dispose();
  }

  /** The size of its memory. */
  get bytes(): number {
    return this.#vm._getExports().memory.buffer.byteLength;
  }

  /** Compiles and starts a script. @throws JSException when it does not parse */
  run(code: string, file: string): void {
    this.#call("follow", this.#vm.evalCode(code, file, EvalFlags.TYPE_GLOBAL | EvalFlags.ASYNC)).dispose();
  }

  settle(results: string): void {
    this.#call("settle", this.#vm.newString(results)).dispose();
  }

  /** Runs all pending jobs. @throws EngineStopped */
  runJobs(): void {
    const engine = this.#vm._getExports(); // the public loop cannot be stopped, and a job can always add another
    for (let done = 1; engine.qjs_is_job_pending() !== 0; done++) {
      if (engine.qjs_execute_pending_job() < 0) {
        this.#vm.getException().dispose();
        this.deadlines.check();
      }
      if (done % jobsBetweenLooks === 0) this.deadlines.check();
    }
    this.deadlines.check();
  }

  /** Runs the timers that are due. */
  tick(): void {
    this.#call("tick").dispose();
  }

  /** The script's message for the host. It is read even when the time is over. */
  drain(): string {
    return this.deadlines.without(() => this.#call("drain").consume((text) => text.toString()));
  }

  freeze(): { readonly snapshot: Snapshot; readonly slots: Slots } {
    this.#vm.runGC();
    const slots = slotsOf((name) => this.#vm.exportHandle(this.#mailbox[name]));
    return { snapshot: this.#vm.snapshot(), slots };
  }

  /** Reports a failed promise without a handler, or a handler that was added later, to the prelude. */
  #notice(...[promise, reason, isHandled]: PromiseRejection): void {
    try {
      const handled = isHandled ? this.#vm.true : this.#vm.false;
      const result = this.#vm.callFunction(this.#mailbox.notice, this.#vm.undefined, promise, reason, handled);
      if (result.consume((isSpent) => isSpent.toBoolean())) this.deadlines.spend();
    } catch {
      // The script's time or memory is used up. Another place reports that.
    }
  }

  /** Frees what it is given. */
  #call(slot: keyof Slots, ...given: readonly JSValueHandle[]): JSValueHandle {
    try {
      return this.#vm.callFunction(this.#mailbox[slot], this.#vm.undefined, ...given);
    } catch (error) {
      this.deadlines.check(); // a stop is the real cause
      throw error;
    } finally {
      for (const handle of given) handle.dispose();
    }
  }
}

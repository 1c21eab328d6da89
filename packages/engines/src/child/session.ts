/**
 * The host's side of a running script: it keeps the budgets and checks every frame.
 *
 * Invariant: after a `done` or `failed` step the sandbox is killed or returned, and `next` returns the same step again.
 */
import { type Clock, type JsonObject, RuntimeFault } from "@postern/core";
import {
  type AskedCall,
  argumentBoundsOf,
  type Printed,
  type SandboxLimits,
  type SandboxSession,
  type ScriptStep,
  type SettledCall,
  tooLarge,
} from "@postern/core/sandbox";
import { type ReceivedFrame, type SandboxEnd, unaskedFrame } from "./frame-line.ts";
import { ProtocolBroken } from "./frames.ts";
import { readStep } from "./step-frames.ts";
import { type Overrun, ProcessWatch } from "./watch.ts";

/** The terms of one script in a sandbox. */
export interface SessionTerms {
  readonly limits: SandboxLimits;
  readonly overheadBytes: number;
  readonly clock: Clock;
  /** Of a restored script: the number of places it has used. */
  readonly places?: number;
  /** Of a restored script: the calls it waits for. */
  readonly asked?: readonly number[];
  /** Returns the process after the script ended by itself or was frozen. */
  readonly release?: () => void;
  /** Reads from how the process ended which limit of the kernel it passed. */
  readonly limitOf?: (message: string) => "cpu" | "memory" | undefined;
}

type FailedStep = Extract<ScriptStep, { step: "failed" }>;

export class ChildSession implements SandboxSession {
  readonly #child: SandboxEnd;
  readonly #terms: SessionTerms;
  readonly #begun: number;
  readonly #watch: ProcessWatch;
  readonly #open: Set<number>;
  #places: number;
  #results: SettledCall[] = [];
  #printedBytes = 0;
  #overrun: Overrun | undefined;
  #state: "new" | "running" | "waiting" | "ended" = "new";
  #isFrozen = false;
  #isReleased = false;
  #last: ScriptStep | undefined;

  constructor(child: SandboxEnd, terms: SessionTerms) {
    this.#child = child;
    this.#terms = terms;
    this.#begun = terms.clock.monotonic();
    this.#watch = new ProcessWatch(child.pid, terms.clock);
    this.#places = terms.places ?? 0;
    this.#open = new Set(terms.asked);
    if (terms.asked !== undefined) this.#state = "waiting";
    child.limitMemory?.(terms.limits.memoryBytes + terms.overheadBytes);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get usedCpuMs(): number {
    return this.#watch.usedMs;
  }

  async next(passedMs = 0): Promise<ScriptStep> {
    if (this.#last !== undefined) return this.#last;
    if (this.#state === "running") throw new RuntimeFault("internal", "`next` was called while a step is under way.");
    this.#state = "running";
    this.#isFrozen = false;
    const results = this.#results.splice(0);
    const left = this.#left();
    const step = this.#checked(await this.#ask({ do: "next", results: JSON.stringify(results), passedMs, ...left }));
    if (step.step === "calls") {
      this.#state = "waiting";
      return step;
    }
    this.#finish(step);
    return step;
  }

  settle(results: readonly SettledCall[]): void {
    for (const result of results) {
      if (!this.#open.delete(result.place)) {
        throw new RuntimeFault("internal", `Place \`${result.place}\` is not waited for; settle each asked call once.`);
      }
      this.#results.push(result);
    }
  }

  async freeze(): Promise<Uint8Array> {
    if (this.#state !== "waiting" || this.#results.length > 0) {
      throw new RuntimeFault(
        "internal",
        "Only a script that waits for its calls can be frozen, before any of them is settled.",
      );
    }
    const answer = await this.#ask({ do: "freeze" });
    const image = answer.kind === "frame" ? answer.frame["image"] : undefined;
    if (typeof image !== "string") {
      this.kill();
      throw new RuntimeFault("internal", "The sandbox gave no image; the script cannot be frozen.");
    }
    this.#isFrozen = true;
    return Buffer.from(image, "base64");
  }

  kill(): void {
    this.#state = "ended";
    if (!this.#isReleased) this.#child.kill(); // else another script may use it by now
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isFrozen && this.#state === "waiting") this.#returnProcess();
    else this.kill();
    // Does not wait for a process whose script ended normally.
    if (!this.#isReleased && this.#last?.step !== "done") await this.#child.gone;
  }

  /** Asks once, and watches time and memory until the answer. */
  async #ask(question: JsonObject): Promise<ReceivedFrame> {
    if (this.#child.hasUnaskedFrame) return { kind: "broken", message: unaskedFrame };
    const { wallMs } = this.#left();
    const { limits, overheadBytes } = this.#terms;
    const bounds = { cpuMs: limits.cpuMs, wallMs, memoryBytes: limits.memoryBytes + overheadBytes };
    const unwatch = this.#watch.turn(bounds, (why) => {
      this.#overrun = why;
      this.#child.kill();
    });
    this.#child.send(question);
    const frame = await this.#child.receive();
    unwatch();
    return frame;
  }

  #left(): { readonly cpuMs: number; readonly wallMs: number } {
    const { limits, clock } = this.#terms;
    return {
      cpuMs: Math.max(0, limits.cpuMs - this.#watch.usedMs),
      wallMs: Math.max(0, limits.wallMs - (clock.monotonic() - this.#begun)),
    };
  }

  #checked(received: ReceivedFrame): ScriptStep {
    if (received.kind === "broken") return failed("protocol", received.message);
    if (received.kind === "ended") {
      const overrun = this.#overrun ?? (received.isShort === true ? "memory" : this.#terms.limitOf?.(received.message));
      return overrun === undefined ? failed("crash", received.message) : this.#overran(overrun);
    }
    try {
      const step = this.#bounded(readStep(received.frame));
      if (this.#child.hasUnaskedFrame) throw new ProtocolBroken(unaskedFrame);
      if (step.step === "calls") this.#count(step.calls, received);
      return step;
    } catch (error) {
      if (!(error instanceof ProtocolBroken)) throw error;
      return failed("protocol", error.message);
    }
  }

  /** Idempotency keys are made of places, so none may be left out or used twice. */
  #count(calls: readonly AskedCall[], frame: { readonly bytes: number; readonly values: number }): void {
    const bounds = argumentBoundsOf(this.#terms.limits);
    const isLarge = frame.bytes > 2 * bounds.argumentBytes || frame.values > 2 * bounds.argumentValues;
    for (const call of calls) {
      if (call.place !== this.#places)
        throw new ProtocolBroken(`A call has place ${call.place} where ${this.#places} is due.`);
      // An engine leaves out arguments that are too large, and the call is refused. One that does not is broken.
      const problem = isLarge ? tooLarge(call, bounds, JSON.stringify(call.arguments)) : undefined;
      if (problem !== undefined && call.cutBytes === undefined) throw new ProtocolBroken(problem);
      this.#places++;
      this.#open.add(call.place);
    }
    if (this.#open.size === 0) throw new ProtocolBroken("The script waits for nothing.");
  }

  /** Cuts printed text that an engine did not cut itself. */
  #bounded(step: ScriptStep): ScriptStep {
    if (step.printed === undefined) return step;
    const { outputBytes } = this.#terms.limits;
    const kept: Printed[] = [];
    for (const { stream, text } of step.printed) {
      const room = outputBytes + slackBytes - this.#printedBytes;
      this.#printedBytes += Buffer.byteLength(text);
      if (room <= 0) break;
      kept.push({ stream, text: Buffer.byteLength(text) <= room ? text : text.slice(0, room) });
    }
    return { ...step, printed: kept };
  }

  #overran(overrun: Overrun): FailedStep {
    const { cpuMs, wallMs, memoryBytes } = this.#terms.limits;
    switch (overrun) {
      case "memory":
        return failed("memory", `The script needed more than its ${memoryBytes} bytes of memory and was stopped.`);
      case "wall":
        return failed("wall", `The script's time of ${wallMs} ms is over; it was stopped.`);
      case "cpu":
        return failed("cpu", `The script used more than its ${cpuMs} ms of processor time and was stopped.`);
    }
  }

  #finish(step: ScriptStep): void {
    this.#last = step;
    if (step.step === "done") this.#returnProcess();
    else this.kill();
  }

  /** Returns the process after a normal end; otherwise kills it. */
  #returnProcess(): void {
    const { release } = this.#terms;
    this.#isReleased ||= release !== undefined && this.#state !== "ended";
    if (this.#isReleased && this.#state !== "ended") release?.();
    this.kill();
  }
}

/** Room for the notice that text was cut. */
const slackBytes = 1_024;

function failed(why: FailedStep["why"], message: string): FailedStep {
  return { step: "failed", why, message };
}

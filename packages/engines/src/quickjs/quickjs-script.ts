/** Runs one script in its machine from call to call, from the start or from an image. */

import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { type ArgumentBounds, holdsMore, moreThan, tooLarge } from "@postern/core/sandbox";
import { JSException } from "quickjs-wasi";
import { EngineStopped, type Overtime } from "./deadlines.ts";
import type { QuickJsMachine } from "./machine.ts";
import { listIn, parsed, TooDeep } from "./mail.ts";
import { asFunction, fromModule, type ScriptSource, syntaxProblem, withoutTypes } from "./source.ts";

export interface ScriptTerms extends ArgumentBounds {
  readonly machine: QuickJsMachine;
  readonly outputBytes: number;
  /** Of a restored script. */
  readonly lines?: readonly number[] | undefined;
  readonly printedBytes?: number;
}

interface ScriptText {
  readonly text: string;
  readonly typed: boolean;
}

export class QuickJsScript {
  readonly machine: QuickJsMachine;
  readonly #outputBytes: number;
  readonly #bounds: ArgumentBounds;
  #begin: (() => void) | undefined;
  #lines: readonly number[] | undefined;
  /** In this turn. */
  #printed: { readonly stream: Json; text: string }[] = [];
  /** In all its turns. */
  #printedBytes: number;
  /** How far its clock has moved since it returned. */
  #afterMs = 0;

  constructor({ machine, outputBytes, lines, printedBytes = 0, ...bounds }: ScriptTerms, source?: ScriptText) {
    this.machine = machine;
    this.#outputBytes = outputBytes;
    this.#bounds = bounds;
    this.#printedBytes = printedBytes;
    this.#lines = lines;
    if (source !== undefined) this.#begin = () => this.#run(source);
  }

  /** Maps lines to the source's lines, when removing types changed them. */
  get lines(): readonly number[] | undefined {
    return this.#lines;
  }

  get printedBytes(): number {
    return this.#printedBytes;
  }

  /** The number of used places and the open calls. */
  position(): { readonly places: Json; readonly open: Json } {
    const { places, open } = parsed(this.machine.drain());
    return { places: places ?? 0, open: open ?? [] };
  }

  /** @param order with the results of calls as JSON, and with the time that passed for the script's timers */
  next(order: JsonObject): JsonObject {
    this.#printed = [];
    this.machine.deadlines.set(Number(order["cpuMs"]), Number(order["wallMs"]));
    const step = this.#step(order);
    return this.#printed.length === 0 ? step : { ...step, printed: this.#printed };
  }

  #step({ results, passedMs = 0 }: JsonObject): JsonObject {
    try {
      this.machine.clock.slept(Number(passedMs));
      if (typeof results === "string" && results !== "[]") this.machine.settle(results);
      this.#begin?.();
      this.#begin = undefined;
      return this.#turn();
    } catch (error) {
      return this.#failure(error);
    }
  }

  /** Runs until the script calls the host, ends, or waits for nothing. */
  #turn(): JsonObject {
    let calls: readonly Json[] = [];
    let isTicked = false;
    for (;;) {
      this.machine.runJobs();
      const mail = parsed(this.machine.drain()); // untrusted: the host checks each field
      if (this.#keepPrinted(mail)) return this.#spent();
      calls = calls.concat(listIn(mail, "calls"));
      const timerMs = Number(mail["timer"]);
      if (timerMs >= 0 && !isTicked) {
        this.machine.tick(); // due timers may make calls, which go out together
        isTicked = true;
        continue;
      }
      const timer = timerMs >= 0 && { timerMs };
      if (calls.length > 0) return { step: "calls", calls: calls.map((call) => this.#placed(call)), ...timer };
      if (mail["state"] === "failed") return this.#scriptFailure(mail);
      if (listIn(mail, "open").length > 0) return { step: "calls", calls, ...timer };
      const isDone = mail["state"] === "done";
      if (isDone && !this.#mayTick(timerMs)) return this.#done(mail);
      if (timerMs < 0) return failed("deadlock", deadlock);
      const sleepMs = Math.min(timerMs, this.machine.deadlines.leftMs + 1);
      if (!isDone) sleep(sleepMs); // the answer does not wait for a timeout
      this.machine.clock.slept(sleepMs);
      isTicked = false;
    }
  }

  /**
   * Joins text of the same stream and counts its bytes; the prelude counts only characters.
   * @returns whether the script printed too much
   */
  #keepPrinted(mail: JsonObject): boolean {
    for (const { stream = "out", text } of listIn(mail, "printed").filter(isJsonObject)) {
      const fits = beginning(String(text), this.#outputBytes - this.#printedBytes);
      this.#printedBytes += Buffer.byteLength(String(text));
      const last = this.#printed.at(-1);
      if (last?.stream === stream) last.text += fits;
      else this.#printed.push({ stream, text: fits });
    }
    return mail["state"] === "spent" || this.#printedBytes > this.#outputBytes;
  }

  /** After the script returned, its timers still run while its time lasts. */
  #mayTick(timerMs: number): boolean {
    if (timerMs < 0) return false;
    this.#afterMs += timerMs;
    return this.#afterMs < this.machine.deadlines.leftMs;
  }

  #done(mail: JsonObject): JsonObject {
    if (mail["unwritable"] !== undefined)
      return failed("script", `What the script returned is not JSON. ${String(mail["unwritable"])}`);
    const { value } = mail;
    if (value === undefined) return { step: "done" };
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    const { argumentValues } = this.#bounds;
    if (bytes <= this.#outputBytes && !holdsMore(text, argumentValues)) return { step: "done", value };
    const much =
      bytes > this.#outputBytes
        ? `${bytes} bytes and ${this.#outputBytes} may be (\`output_bytes\`)`
        : moreThan(argumentValues);
    const message = `The script returned ${much}; return less, or keep it with artifacts.put.`;
    return failed("output", message);
  }

  #scriptFailure(mail: JsonObject): JsonObject {
    const overtime = this.machine.deadlines.over;
    if (overtime !== undefined) return this.#stopped(overtime);
    const reason = isJsonObject(mail["reason"]) ? mail["reason"] : {};
    const message = String(reason["message"] ?? "The script failed.").slice(0, this.#outputBytes);
    return { ...failed(memoryOr("script", message), message), ...this.#lineIn(reason) };
  }

  /** The engine failed: stopped, out of stack, or broken. */
  #failure(error: unknown): JsonObject {
    const overtime = error instanceof EngineStopped ? error.why : this.machine.deadlines.over;
    if (this.#keepPrinted(lastMail(this.machine))) return this.#spent();
    return overtime === undefined ? this.#broken(error) : this.#stopped(overtime);
  }

  /** The failure when no limit was passed. */
  #broken(error: unknown): JsonObject {
    if (error instanceof Unparsable) return { ...failed("script", error.message), ...error.place };
    if (error instanceof TooDeep) return failed("script", error.message);
    if (error instanceof JSException) {
      const line = /\bscript:(\d+)/.exec(error.stack ?? "")?.[1];
      const message = `${error.name}: ${error.message}`;
      return { ...failed(memoryOr("script", message), message), ...this.#lineIn({ line: Number(line) }) };
    }
    if (error instanceof RangeError) return failed("script", "RangeError: nested or called too deeply.");
    if (error instanceof WebAssembly.RuntimeError) return failed("crash", "The engine broke down.");
    if (error instanceof Error) return failed("script", `${error.name}: ${error.message}`.slice(0, 2_000));
    throw error;
  }

  #stopped(why: Overtime): JsonObject {
    if (why === "output") return this.#spent();
    if (why === "wall") return failed("wall", "The script ran out of time and was stopped.");
    return failed("cpu", "The script used more processor time than it may and was stopped.");
  }

  #spent(): JsonObject {
    return failed("output", `The script printed more than ${this.#outputBytes} bytes.`);
  }

  /** With the line of the source, and without arguments that are too large. */
  #placed(call: Json): Json {
    if (!isJsonObject(call)) return call;
    const text = JSON.stringify(call["arguments"] ?? null);
    const isTooLarge = call["cutBytes"] === undefined && tooLarge({ tool: "" }, this.#bounds, text) !== undefined;
    const without = { arguments: {}, cutBytes: Buffer.byteLength(text) };
    return { ...call, ...this.#lineIn(call), ...(isTooLarge && without) };
  }

  #lineIn({ line }: JsonObject): { readonly line?: number } {
    if (typeof line !== "number" || Number.isNaN(line)) return {};
    return { line: this.#lines?.[line - 1] ?? line };
  }

  /** Tries to compile it as a script, as a function body (for `return`), without types, and as a module (for `export`). */
  #run({ text: source, typed }: ScriptText): void {
    const module = fromModule(source);
    const attempts: readonly (() => ScriptSource)[] = [
      ...(typed ? [] : [() => ({ code: source }), () => ({ code: asFunction(source) })]),
      () => withoutTypes(source),
      () => withoutTypes(asFunction(source)),
      ...(module === undefined ? [] : [() => withoutTypes(module)]),
    ];
    let last: unknown;
    for (const attempt of attempts) {
      try {
        const { code, lines } = attempt();
        this.#lines = lines;
        this.machine.run(code, "script");
        return;
      } catch (error) {
        if (error instanceof EngineStopped || !isSyntax(error)) throw error;
        last = error;
      }
    }
    this.#lines = undefined;
    throw last instanceof Error ? new Unparsable(last, source) : last;
  }
}

const deadlock = "The script waits for something that never happens: no call is open and no timer runs.";

/** The first bytes of a text, without half a character. */
function beginning(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new TextDecoder().decode(Buffer.from(text).subarray(0, Math.max(0, bytes)), { stream: true });
}

class Unparsable extends Error {
  readonly place: { readonly line?: number };

  constructor(error: Error, source: string) {
    const { message, ...place } = syntaxProblem(error, source);
    super(message);
    this.place = place;
  }
}

function failed(why: string, message: string): JsonObject {
  return { step: "failed", why, message };
}

function memoryOr(why: string, message: string): string {
  return /\bout of memory\b/.test(message) ? "memory" : why;
}

function isSyntax(error: unknown): boolean {
  return (error instanceof JSException && error.name === "SyntaxError") || (error instanceof Error && "code" in error);
}

function lastMail(machine: QuickJsMachine): JsonObject {
  try {
    return parsed(machine.drain());
  } catch {
    return {}; // the engine was stopped in the prelude's own code
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

function sleep(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}

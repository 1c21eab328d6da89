/** The child's program: QuickJS, driven by the host's frames. Started by driver.ts, never imported. */
import { readFileSync } from "node:fs";
import { JSException } from "quickjs-wasi";
import { isJsonObject, type Json, type JsonObject } from "../../../calls/json.ts";
import { becomeNobody, type InsideEngine, serveHost } from "../child/inside.ts";
import { packImage, readHead, snapshotOf } from "./image.ts";
import { Machine, type Overtime, Stopped } from "./machine.ts";
import { scriptName } from "./prelude.ts";
import { asFunction, type Source, withoutTypes } from "./source.ts";

/** Deeper than anything a gate lets pass; shallow enough for every walk. */
const maxDepth = 200;
const [wasmPath = "", engine = ""] = process.argv.slice(2);
const wasm = new WebAssembly.Module(readFileSync(wasmPath));
const pristine = await Machine.pristine(wasm); // what is compiled lazily is compiled now, too
becomeNobody();

class QuickJsEngine implements InsideEngine {
  #machine: Machine | undefined;
  #begin: (() => void) | undefined;
  #lines: readonly number[] | undefined;
  #outputBytes = 0;

  async start(order: JsonObject): Promise<JsonObject> {
    const program = order["program"] as JsonObject; // the host's own frame, written by driver.ts; so are the other orders
    this.#outputBytes = Number(order["outputBytes"]);
    const setting = JSON.stringify({ names: program["names"], outputBytes: this.#outputBytes });
    this.#machine = await Machine.create(wasm, Number(order["memoryBytes"]), String(program["chainId"]), setting);
    this.#begin = () => this.#run(String(program["source"]), program["language"] === "typescript");
    return { started: true };
  }

  async restore(order: JsonObject): Promise<JsonObject> {
    const image = readHead(Buffer.from(String(order["image"]), "base64"));
    if (image === undefined) return { foreign: "It is damaged, or no image of this engine." };
    if (image.head.engine !== engine)
      return { foreign: `It was made by \`${image.head.engine}\`; this is \`${engine}\`.` };
    this.#outputBytes = Number(order["outputBytes"]);
    this.#lines = image.head.lines;
    const memoryBytes = Number(order["memoryBytes"]);
    this.#machine = await Machine.restore(wasm, memoryBytes, snapshotOf(image, baseMemory()), image.head.slots);
    const { places, open } = parsed(this.#machine.drain());
    return { restored: true, places: places ?? 0, open: open ?? [] };
  }

  next(order: JsonObject): JsonObject {
    const machine = this.#started();
    machine.allow(Number(order["cpuMs"]), Number(order["wallMs"]));
    try {
      const results = order["results"];
      if (Array.isArray(results) && results.length > 0) machine.settle(JSON.stringify(results));
      this.#begin?.();
      this.#begin = undefined;
      return this.#turn(machine);
    } catch (error) {
      return this.#failure(machine, error);
    }
  }

  freeze(): JsonObject {
    const { snapshot, slots } = this.#started().freeze();
    const { memory, stackPointer, runtimePtr: runtimePointer, contextPtr: contextPointer } = snapshot;
    const lines = this.#lines === undefined ? {} : { lines: this.#lines };
    const head = { engine, slots, stackPointer, runtimePointer, contextPointer, memoryBytes: memory.length, ...lines };
    return { image: packImage(head, memory, baseMemory()).toString("base64") };
  }

  async rehearse(): Promise<JsonObject> {
    const other = new QuickJsEngine();
    const program = {
      source: rehearsal,
      language: "javascript",
      chainId: "rehearsal",
      names: [["echo", null, "echo"]],
    };
    await other.start({ program, memoryBytes: 16 << 20, outputBytes: 1_000 });
    const bounds = { cpuMs: 1_000, wallMs: 1_000 };
    for (let step = other.next(bounds); step["step"] === "calls"; ) {
      const results = listIn(step, "calls").map((call) => ({
        place: isJsonObject(call) ? (call["place"] ?? 0) : 0,
        status: "ok",
        value: { text: "ok" },
      }));
      step = other.next({ ...bounds, results });
    }
    return { rehearsed: true };
  }

  /** Runs until the script needs the host, has ended, or waits for nothing. */
  #turn(machine: Machine): JsonObject {
    let printed: readonly Json[] = [];
    for (;;) {
      machine.runJobs();
      machine.tick();
      machine.runJobs();
      const mail = parsed(machine.drain());
      printed = [...printed, ...listIn(mail, "printed")];
      const calls = listIn(mail, "calls");
      if (calls.length > 0) return { step: "calls", calls: calls.map((call) => this.#placed(call)), printed };
      if (mail["state"] === "failed") return { ...this.#scriptFailure(machine, mail), printed };
      if (listIn(mail, "open").length > 0) return { step: "calls", calls: [], printed };
      if (mail["state"] === "done") return { ...this.#done(mail), printed };
      const timerMs = Number(mail["timer"]);
      if (timerMs < 0) return { step: "failed", why: "deadlock", message: deadlock, printed };
      sleep(Math.min(timerMs, machine.leftMs + 1));
    }
  }

  #done(mail: JsonObject): JsonObject {
    if (mail["unwritable"] !== undefined) {
      return {
        step: "failed",
        why: "script",
        message: `What the script returned is not JSON. ${String(mail["unwritable"])}`,
      };
    }
    const { value } = mail;
    if (value === undefined) return { step: "done" };
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes <= this.#outputBytes) return { step: "done", value };
    const message = `The script returned ${bytes} bytes and ${this.#outputBytes} may be; return less, or keep it with artifacts.put.`;
    return { step: "failed", why: "output", message };
  }

  #scriptFailure(machine: Machine, mail: JsonObject): JsonObject {
    if (machine.overtime !== undefined) return stoppedStep(machine.overtime);
    const reason = isJsonObject(mail["reason"]) ? mail["reason"] : {};
    const message = String(reason["message"] ?? "The script failed.").slice(0, this.#outputBytes);
    const why = /\bout of memory\b/.test(message) ? "memory" : "script";
    return { step: "failed", why, message, ...this.#lineIn(reason) };
  }

  /** The engine itself gave up: stopped, out of stack, or broken. */
  #failure(machine: Machine, error: unknown): JsonObject {
    const overtime = error instanceof Stopped ? error.why : machine.overtime;
    if (overtime !== undefined) return { ...stoppedStep(overtime), printed: lastWords(machine) };
    if (error instanceof TooDeep) return { step: "failed", why: "script", message: error.message };
    if (error instanceof JSException) {
      const line = /\bscript:(\d+)/.exec(error.stack ?? "")?.[1];
      const why = /\bout of memory\b/.test(error.message) ? "memory" : "script";
      const message = `${error.name}: ${error.message}`;
      return { step: "failed", why, message, ...this.#lineIn(line === undefined ? {} : { line: Number(line) }) };
    }
    if (error instanceof RangeError)
      return { step: "failed", why: "script", message: "RangeError: nested or called too deeply." };
    if (error instanceof WebAssembly.RuntimeError)
      return { step: "failed", why: "crash", message: "The engine broke down." };
    if (error instanceof Error)
      return { step: "failed", why: "script", message: `${error.name}: ${error.message}`.slice(0, 2_000) };
    throw error;
  }

  #placed(call: Json): Json {
    return isJsonObject(call) ? { ...call, ...this.#lineIn(call) } : call;
  }

  #lineIn({ line }: JsonObject): { readonly line?: number } {
    if (typeof line !== "number") return {};
    return { line: this.#lines?.[line - 1] ?? line };
  }

  /** As a script first; as a function's body when it returns; without types when it has some. */
  #run(source: string, typed: boolean): void {
    const machine = this.#started();
    const attempts: readonly (() => Source)[] = [
      ...(typed ? [] : [() => ({ code: source }), () => ({ code: asFunction(source) })]),
      () => withoutTypes(source),
      () => withoutTypes(asFunction(source)),
    ];
    let first: unknown;
    for (const attempt of attempts) {
      try {
        const { code, lines } = attempt();
        this.#lines = lines;
        machine.run(code, scriptName);
        return;
      } catch (error) {
        if (error instanceof Stopped || !isSyntax(error)) throw first ?? error;
        first ??= error;
      }
    }
    this.#lines = undefined;
    throw first;
  }

  #started(): Machine {
    if (this.#machine === undefined) throw new TypeError("No script was started.");
    return this.#machine;
  }
}

function stoppedStep(why: Overtime): JsonObject {
  const message =
    why === "cpu" ? "The script computed too long and was stopped." : "The script's time is over; it was stopped.";
  return { step: "failed", why, message };
}

const rehearsal =
  "for (let n = 0; n < 60; n++) { const { text } = await tools.echo({ n }); if (n === 0) console.log(text, { n }) }";
const deadlock = "The script waits for something that never comes: no call is open and no timer runs.";

function baseMemory(): Uint8Array {
  return pristine.freeze().snapshot.memory;
}

class TooDeep extends Error {}

/** Depth is looked at before anything walks over it; the rest of a script's mail is checked by the host. */
function parsed(text: string): JsonObject {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const at = text.charCodeAt(i);
    if (at === 0x22) i = endOfText(text, i);
    else if (at === 0x5b || at === 0x7b) {
      if (++depth > maxDepth) throw new TooDeep(`What the script passed on is nested deeper than ${maxDepth} levels.`);
    } else if (at === 0x5d || at === 0x7d) depth--;
  }
  const mail: unknown = JSON.parse(text);
  if (!isJsonObject(mail)) throw new TypeError("The mailbox holds something else.");
  return mail;
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  return at;
}

function listIn(mail: JsonObject, name: string): readonly Json[] {
  const list = mail[name];
  return Array.isArray(list) ? list : [];
}

function isSyntax(error: unknown): boolean {
  return (error instanceof JSException && error.name === "SyntaxError") || (error instanceof Error && "code" in error);
}

function lastWords(machine: Machine): readonly Json[] {
  try {
    return listIn(parsed(machine.drain()), "printed");
  } catch {
    return []; // an engine that was stopped in the middle of its own bookkeeping has nothing to say
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

function sleep(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}

await serveHost(new QuickJsEngine());

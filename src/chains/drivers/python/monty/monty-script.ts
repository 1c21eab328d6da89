/** One script in Monty: started or thawed, and stepped from call to call. */
import { type Monty, MontyComplete, MontyNameLookup, MontySnapshot, Monty as Parser } from "@pydantic/monty";
import { isJsonObject, type Json, type JsonObject } from "../../../../calls/json.ts";
import { namedArguments, progressOf } from "./monty-arguments.ts";
import { groupOf, type Offer, offerOf, rootOf } from "./monty-offer.ts";
import { calledAs, gatherName } from "./monty-rewrite.ts";
import { asDataclass, CannotLeave, dataclass, fromMonty, handleOf, resultType } from "./monty-values.ts";

type Progress = MontySnapshot | MontyNameLookup | MontyComplete;
interface Ask {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly line?: number;
  readonly kind?: "progress" | "help";
}

/** What the results of the open calls become in the script: one handle, a list of them, or nothing. */
interface Waits {
  readonly isMany?: boolean;
  /** What is asked of the host and of no tool has one. */
  readonly kind?: Ask["kind"];
}

const maxRecursionDepth = 1_000;
/** The host ends a script in time; this is for one that has lost its host. */
const lateMs = 2_000;
const laterType = 2_000_000n;
/** What the script itself did wrong, in Python as in Monty. All else may be Monty's own lack, and the next engine says. */
const own: ReadonlySet<string> = new Set([
  "ValueError",
  "KeyError",
  "IndexError",
  "ZeroDivisionError",
  "AssertionError",
  "RecursionError",
  "StopIteration",
]);

export class MontyScript {
  readonly #offer: Offer;
  readonly #order: JsonObject;
  readonly #outputBytes: number;
  #progress: Progress | (() => Progress);
  #places = 0;
  #open: readonly number[] = [];
  #waits: Waits = {};
  #later: Ask[] = [];
  #printed: { stream: "out" | "error"; text: string }[] = [];
  #printedBytes = 0;
  #isSpent = false;
  readonly #raised = new Set<string>();

  private constructor(order: JsonObject, begin: (script: MontyScript) => Progress | (() => Progress)) {
    this.#order = order;
    this.#offer = offerOf(order["tools"]);
    this.#outputBytes = Number(order["outputBytes"]);
    this.#progress = begin(this);
  }

  static start(order: JsonObject): MontyScript {
    const { memoryBytes, wallMs } = order;
    const maxDurationSecs = (Number(wallMs) + lateMs) / 1_000;
    const limits = { maxMemory: Number(memoryBytes), maxRecursionDepth, maxDurationSecs };
    return new MontyScript(order, (script) => () => {
      const program: Monty = new Parser(String(order["source"]), { scriptName: "script.py" });
      return program.start({ limits, printCallback: script.#print });
    });
  }

  static restore(order: JsonObject): MontyScript {
    const { state } = order;
    if (!isJsonObject(state)) throw new TypeError("The image has no state.");
    const script = new MontyScript({ ...order, tools: state["tools"] ?? "[]" }, (own) =>
      MontySnapshot.load(Buffer.from(String(state["dump"]), "base64"), { printCallback: own.#print }),
    );
    script.#places = Number(state["places"]);
    script.#printedBytes = Number(state["printedBytes"]);
    script.#open = listOfNumbers(state["open"]);
    script.#waits = isJsonObject(state["waits"]) ? state["waits"] : {}; // as `freeze` wrote it
    return script;
  }

  get places(): number {
    return this.#places;
  }

  get open(): number[] {
    return [...this.#open];
  }

  freeze(): string {
    const { tools } = this.#order;
    if (!(this.#progress instanceof MontySnapshot)) throw new TypeError("The script waits for no call.");
    const dump = this.#progress.dump().toString("base64");
    const state = {
      dump,
      tools: tools ?? "[]",
      places: this.#places,
      open: this.open,
      waits: this.#waits,
      printedBytes: this.#printedBytes,
    };
    return Buffer.from(JSON.stringify(state)).toString("base64");
  }

  next(results: readonly JsonObject[]): JsonObject {
    try {
      const step = this.#advance(results);
      return { ...step, printed: this.#printed.splice(0) };
    } catch (error) {
      return { ...this.#failed(error), printed: this.#printed.splice(0) };
    }
  }

  #advance(results: readonly JsonObject[]): JsonObject {
    if (this.#open.length > 0) this.#settle(results);
    else if (typeof this.#progress === "function") this.#progress = this.#progress();
    for (;;) {
      const now = this.#progress;
      if (now instanceof MontyComplete) return this.#done(now);
      if (now instanceof MontyNameLookup) {
        this.#progress = this.#named(now);
      } else if (now instanceof MontySnapshot) {
        const asked = this.#called(now);
        if (asked !== undefined) return { step: "calls", calls: asked };
      } else throw new TypeError("Monty stands nowhere.");
    }
  }

  #named(now: MontyNameLookup): Progress {
    const { variableName: name } = now;
    if (name === "tools") return now.resume({ value: rootOf(this.#offer) });
    return this.#offer.acting.has(name) ? now.resume({ value: groupOf(this.#offer, name) }) : now.resume();
  }

  #done(now: MontyComplete): JsonObject {
    try {
      return { step: "done", value: fromMonty(now.output, false) };
    } catch (error) {
      if (!(error instanceof CannotLeave)) throw error;
      return { step: "failed", why: "unsupported", message: error.message };
    }
  }

  /** @returns what is asked of the host; nothing when the call was answered here */
  #called(snapshot: MontySnapshot): readonly JsonObject[] | undefined {
    const { functionName, args, kwargs } = snapshot;
    try {
      if (functionName === gatherName) return this.#emit(this.#later.splice(0), { isMany: true });
      const called = calledAs(functionName);
      const { name, isLater } = called;
      const ask = this.#asked(called, args, kwargs);
      if (ask === undefined) {
        this.#raise(snapshot, "NameError", `name '${name}' is not defined`);
        return undefined;
      }
      if (!isLater) return this.#emit([ask], ask.kind === undefined ? {} : { kind: ask.kind });
      this.#later.push(ask);
      this.#progress = snapshot.resume({ returnValue: dataclass("Later", laterType, {}) });
    } catch (error) {
      if (!(error instanceof CannotLeave) && !(error instanceof NoSuchTool)) throw error;
      this.#raise(snapshot, error.type, error.message);
      this.#raised.add(error.message);
    }
    return undefined;
  }

  #asked({ name, line }: ReturnType<typeof calledAs>, args: readonly unknown[], kwargs: object): Ask | undefined {
    const at = line === undefined ? {} : { line };
    const numbered = this.#offer.numbered(name);
    if (numbered !== undefined && line !== undefined)
      return { tool: numbered.name, arguments: namedArguments(numbered, args, kwargs), ...at };
    const type = asDataclass(args[0])?.typeId;
    const owner = type === resultType || type === laterType ? undefined : type;
    if (owner === undefined && line === undefined) return undefined; // a method of a value: names of tools are marked
    const given = owner === undefined ? args : args.slice(1);
    if (owner === undefined && name === "progress")
      return { tool: "progress", arguments: progressOf(given, kwargs), kind: "progress", ...at };
    if (owner === undefined && name === "help")
      return { tool: "help", arguments: given.length === 0 ? {} : { tool: String(given[0]) }, kind: "help", ...at };
    const tool = owner === undefined ? this.#offer.alone(name) : this.#offer.member(owner, name);
    if (tool !== undefined) return { tool: tool.name, arguments: namedArguments(tool, given, kwargs), ...at };
    if (owner === undefined) return undefined;
    throw new NoSuchTool(this.#offer.lack(owner, name));
  }

  #emit(asks: readonly Ask[], waits: Waits): readonly JsonObject[] {
    this.#waits = waits;
    const calls = asks.map((ask) => ({ ...ask, place: this.#places++ }));
    this.#open = calls.map(({ place }) => place);
    return calls;
  }

  #settle(results: readonly JsonObject[]): void {
    const snapshot = this.#progress;
    if (!(snapshot instanceof MontySnapshot)) throw new TypeError("The script waits for no call.");
    const byPlace = new Map(results.map((result) => [result["place"], result]));
    const settled = this.#open.map((place) => byPlace.get(place));
    this.#open = [];
    const bad = settled.find((result) => result?.["status"] !== "ok");
    if (bad !== undefined) {
      this.#raise(snapshot, bad["status"] === "denied" ? "PermissionError" : "OSError", told(bad));
      return;
    }
    const { kind, isMany = false } = this.#waits;
    if (kind === "help") this.#print("stdout", `${textOf(settled[0]?.["value"])}\n`);
    const handles = settled.map((result) => (kind === undefined ? handleOf(result?.["value"] ?? null) : null));
    this.#progress = snapshot.resume({ returnValue: isMany ? handles : handles[0] });
  }

  #raise(snapshot: MontySnapshot, type: string, message: string): void {
    if (type === "OSError" || type === "PermissionError") this.#raised.add(message);
    this.#progress = snapshot.resume({ exception: { type, message } });
  }

  readonly #print = (stream: string, text: string): void => {
    this.#printedBytes += Buffer.byteLength(text);
    if (this.#printedBytes > this.#outputBytes) {
      this.#isSpent = true;
      throw new Error("The script printed more than it may.");
    }
    const name = stream === "stderr" ? "error" : "out";
    const last = this.#printed.at(-1);
    if (last?.stream === name) last.text += text;
    else this.#printed.push({ stream: name, text });
  };

  #failed(error: unknown): JsonObject {
    if (this.#isSpent)
      return { step: "failed", why: "output", message: `The script printed more than ${this.#outputBytes} bytes.` };
    const { type, message, line } = read(error);
    const isRaised = this.#raised.has(message);
    const name =
      isRaised && type === "OSError" ? "ToolError" : isRaised && type === "PermissionError" ? "ToolDenied" : type;
    const why = type === "MemoryError" ? "memory" : own.has(type) || isRaised ? "script" : "unsupported";
    return { step: "failed", why, message: `${name}: ${message}`.slice(0, 4000), ...(line !== undefined && { line }) };
  }
}

/** What a tool's name does not lead to; the message lists what there is. */
class NoSuchTool extends Error {
  readonly type = "AttributeError";
}

function textOf(value: Json | undefined): string {
  const text = isJsonObject(value) ? value["text"] : undefined;
  return typeof text === "string" ? text : "";
}

function told(result: JsonObject): string {
  const { message, advice } = result;
  const text = typeof message === "string" && message !== "" ? message : "the call failed";
  return typeof advice === "string" && advice !== "" && !text.includes(advice) ? `${text} ${advice}` : text;
}

function read(error: unknown): { readonly type: string; readonly message: string; readonly line?: number } {
  if (!(error instanceof Error)) return { type: "Error", message: String(error) };
  const inner: unknown = "exception" in error ? error.exception : undefined;
  const { typeName, message } = (inner ?? {}) as { readonly typeName?: unknown; readonly message?: unknown }; // both are read as text below
  if (typeof typeName !== "string") return { type: error.name, message: error.message };
  const line = "traceback" in error && typeof error.traceback === "function" ? lineOf(error.traceback()) : undefined;
  return { type: typeName, message: typeof message === "string" ? message : "", ...(line !== undefined && { line }) };
}

function lineOf(frames: unknown): number | undefined {
  const last: unknown = Array.isArray(frames) ? frames.at(-1) : undefined;
  const line = typeof last === "object" && last !== null && "line" in last ? last.line : undefined;
  return typeof line === "number" ? line : undefined;
}

function listOfNumbers(value: Json | undefined): readonly number[] {
  return Array.isArray(value) ? value.filter((one: Json) => typeof one === "number") : [];
}

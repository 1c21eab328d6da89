/** The program of the child process: QuickJS, driven by the host's frames. driver.ts starts it. */
import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject } from "@postern/core/sandbox";
import type { Snapshot } from "quickjs-wasi";
import { dropRootUser, type InsideEngine, serveHost } from "../child/inside.ts";
import { packImage, readHead, snapshotOf } from "./image.ts";
import { QuickJsMachine } from "./machine.ts";
import { listIn } from "./mail.ts";
import { QuickJsScript, type ScriptTerms } from "./quickjs-script.ts";
import { type Blank, baseOf, blank, type EngineModules, type Template, withSetting } from "./template.ts";

/** Memory of ended scripts is collected above this size. */
const mostGarbageBytes = 4 * 1024 * 1024;
/** A larger image (in base64) is not sent: the script is replayed. */
const mostImageLetters = 8 * 1024 * 1024;

class QuickJsEngine implements InsideEngine {
  readonly #name: string;
  readonly #blank: Blank;
  #base: Snapshot | undefined;
  #script: QuickJsScript | undefined;
  /** The template of the last script: the next one of the same owner usually has the same. */
  #known: { readonly setting: string; readonly template: Template } | undefined;
  /** An unused machine of the known template. */
  #spare: QuickJsMachine | undefined;
  #garbageBytes = 0;

  private constructor(name: string, empty: Blank) {
    this.#name = name;
    this.#blank = empty;
  }

  /** @param hello written by driver.ts, as all messages of the host */
  static async open(hello: JsonObject): Promise<QuickJsEngine> {
    const extensions = listIn(hello, "extensions")
      .filter(isJsonObject)
      .map(({ name, path }) => ({ name: String(name), wasm: moduleAt(String(path)) }));
    const modules: EngineModules = { wasm: moduleAt(String(hello["wasm"])), extensions };
    dropRootUser();
    return new QuickJsEngine(String(hello["engine"]), await blank(modules, String(hello["prelude"])));
  }

  async start(order: JsonObject): Promise<JsonObject> {
    const { source, language } = order;
    const setting = String(order["setting"]);
    if (this.#known?.setting !== setting) {
      this.#known = { setting, template: await withSetting(this.#blank, setting) };
      this.#spare = undefined;
    }
    const machine = this.#spare ?? (await this.#fresh(this.#known.template));
    this.#spare = undefined;
    machine.clock.set(Number(order["startedAt"]) * 1_000);
    machine.seed(listIn(order, "seed"));
    this.#script = new QuickJsScript(termsOf(machine, order), {
      text: String(source),
      typed: language === "typescript",
    });
    return { started: true };
  }

  async restore(order: JsonObject): Promise<JsonObject> {
    const image = readHead(Buffer.from(String(order["image"]), "base64"));
    if (image === undefined) return { foreign: "It is damaged, or no image of this engine." };
    const { slots, lines, printedBytes, engine: maker } = image.head;
    if (maker !== this.#name) return { foreign: `It was made by \`${maker}\`; this is \`${this.#name}\`.` };
    const base = await this.#baseMemory();
    this.#garbageBytes += 2 * base.memory.length; // the unpacked bytes and the new memory
    const machine = await QuickJsMachine.restore(this.#blank.engine, snapshotOf(image, base), slots);
    machine.clock.set(image.head.microseconds);
    this.#script = new QuickJsScript({ ...termsOf(machine, order), lines, printedBytes });
    return { restored: true, ...this.#script.position() };
  }

  next(order: JsonObject): JsonObject {
    return this.#started().next(order);
  }

  async freeze(): Promise<JsonObject> {
    const { machine, lines, printedBytes } = this.#started();
    const { snapshot, slots } = machine.freeze();
    const { memory, stackPointer, runtimePtr: runtimePointer, contextPtr: contextPointer } = snapshot;
    const own = {
      engine: this.#name,
      slots,
      stackPointer,
      runtimePointer,
      contextPointer,
      memoryBytes: memory.length,
      microseconds: machine.clock.microseconds,
      printedBytes,
    };
    const base = await this.#baseMemory();
    this.#garbageBytes += 2 * memory.length;
    const image = packImage({ ...own, ...(lines !== undefined && { lines }) }, memory, base.memory).toString("base64");
    return image.length > mostImageLetters ? {} : { image };
  }

  /** Frees the script's memory and prepares the next script's. */
  async rest(): Promise<JsonObject> {
    this.#garbageBytes += this.#script?.machine.bytes ?? 0;
    this.#script = undefined;
    if (this.#garbageBytes > mostGarbageBytes) {
      globalThis.gc?.();
      this.#garbageBytes = 0;
    }
    if (this.#known !== undefined) this.#spare ??= await this.#fresh(this.#known.template);
    return { rested: true };
  }

  #fresh({ snapshot, slots }: Template): Promise<QuickJsMachine> {
    return QuickJsMachine.restore(this.#blank.engine, snapshot, slots);
  }

  async #baseMemory(): Promise<Snapshot> {
    this.#base ??= await baseOf(this.#blank);
    return this.#base;
  }

  #started(): QuickJsScript {
    if (this.#script === undefined) throw new TypeError("No script was started.");
    return this.#script;
  }
}

function moduleAt(path: string): WebAssembly.Module {
  return new WebAssembly.Module(readFileSync(path));
}

/** Sets the limits of a machine for its script. */
function termsOf(machine: QuickJsMachine, { memoryBytes, ...bounds }: JsonObject): ScriptTerms {
  machine.limit(Number(memoryBytes));
  const { outputBytes, argumentBytes, argumentValues } = bounds;
  return {
    ...{ machine, outputBytes: Number(outputBytes) },
    ...{ argumentBytes: Number(argumentBytes), argumentValues: Number(argumentValues) },
  };
}

await serveHost((hello) => QuickJsEngine.open(hello));

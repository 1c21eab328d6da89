/** Python on Monty: the part of the language that starts in no time, is checked before it runs, and can be frozen. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, SystemClock } from "../../../calls/clock.ts";
import { RuntimeFault } from "../../../calls/fault.ts";
import { isJsonObject, type JsonObject } from "../../../calls/json.ts";
import type { Program, SandboxDriver, SandboxLimits, SandboxSession } from "../../sandbox.ts";
import { placeOf } from "../../signatures.ts";
import type { SandboxProcess } from "../child/child-process.ts";
import { permissionFlags } from "../child/fences.ts";
import { ChildPool } from "../child/pool.ts";
import { ChildSession } from "../child/session.ts";
import { pythonFrames, sketchOf } from "./child-script.ts";
import { packageFolder } from "./deno.ts";
import { judge } from "./monty-check.ts";
import { rewriteForMonty } from "./monty-rewrite.ts";
import { scanForMonty } from "./monty-scan.ts";
import { plainNames, pythonStubs } from "./stubs.ts";

export interface MontyOptions {
  readonly clock?: Clock;
  readonly warm?: number;
  readonly most?: number;
}

type Verdict = { readonly unsupported: string } | { readonly invalid: string } | undefined;

const overheadBytes = 192 * 1024 * 1024;
const mostRemembered = 500;
const longestScriptBytes = 64 * 1024;

export class MontyDriver implements SandboxDriver, AsyncDisposable {
  readonly name = "monty";
  readonly capabilities = { language: "python", durability: "snapshot", isolation: "process", parallel: true } as const;
  readonly engine: string;
  readonly #options: MontyOptions;
  readonly #folder = packageFolder("@pydantic/monty") ?? folderOf();
  readonly #verdicts = new Map<string, Verdict>();
  #pool: ChildPool | undefined;

  constructor(options: MontyOptions = {}) {
    this.#options = options;
    this.engine = `monty/${this.#folder === undefined ? "none" : versionIn(this.#folder)}`;
  }

  async unavailable(): Promise<string | undefined> {
    return this.#folder === undefined
      ? "the package `@pydantic/monty` is not installed (npm install @pydantic/monty)"
      : undefined;
  }

  /** Cached by the script and its tools: the type checker takes longer than most scripts. */
  async check(program: Program): Promise<Verdict> {
    const key = createHash("sha256")
      .update(JSON.stringify([program.source, program.tools]))
      .digest("base64");
    if (this.#verdicts.has(key)) return this.#verdicts.get(key);
    const verdict = await this.#checked(program);
    if (this.#verdicts.size >= mostRemembered) this.#verdicts.clear();
    this.#verdicts.set(key, verdict);
    return verdict;
  }

  warm(): void {
    this.#opened().warm();
  }

  async start(program: Program, limits: SandboxLimits): Promise<SandboxSession> {
    if (Buffer.byteLength(program.source) > longestScriptBytes)
      throw new RuntimeFault(
        "sandbox_failed",
        `Monty takes scripts of ${longestScriptBytes} bytes; ask \`check\` first.`,
      );
    const rewritten = rewriteForMonty(program.source, callable(program.tools));
    const source = "source" in rewritten ? rewritten.source : program.source;
    const child = await this.#opened().take();
    await answered(child, { do: "start", source, ...termsOf(program, limits) }, "started");
    return this.#session(child, limits);
  }

  async restore(image: Uint8Array, limits: SandboxLimits): Promise<SandboxSession> {
    const state = readImage(image);
    const child = await this.#opened().take();
    const order = { do: "restore", state, outputBytes: limits.outputBytes, memoryBytes: limits.memoryBytes };
    const { places, open } = await answered(child, order, "restored");
    if (typeof places !== "number" || !Array.isArray(open) || !open.every((place) => typeof place === "number"))
      throw broken();
    return this.#session(child, limits, { places, asked: open });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  async #checked(program: Program): Promise<Verdict> {
    const { source, tools } = program;
    // What is looked for in a stranger's text here is looked for in our own process: bounded.
    if (Buffer.byteLength(source) > longestScriptBytes)
      return { unsupported: `a script of more than ${longestScriptBytes} bytes` };
    const rewritten = rewriteForMonty(source, callable(tools));
    const stubs = pythonStubs(tools);
    const child = await this.#opened().take();
    const order = {
      do: "start",
      check: true,
      source: "source" in rewritten ? rewritten.source : "",
      stubs,
      original: source,
    };
    try {
      const found = await answered(child, order, "checked");
      const judged = judge({ problems: String(found["problems"]), source, stubs, available: tools.map(placeOf) });
      const { unparsed } = found;
      if (judged !== undefined && "invalid" in judged) return judged;
      const lack =
        "unsupported" in rewritten
          ? rewritten.unsupported
          : (scanForMonty(source) ?? (typeof unparsed === "string" ? unparsed : undefined));
      return lack === undefined ? judged : { unsupported: lack };
    } catch (error) {
      if (!(error instanceof RuntimeFault)) throw error;
      return { unsupported: "its checker did not survive the script" };
    } finally {
      child.kill();
    }
  }

  #session(
    child: SandboxProcess,
    limits: SandboxLimits,
    restored: { readonly places?: number; readonly asked?: readonly number[] } = {},
  ): ChildSession {
    return new ChildSession(child, {
      limits,
      overheadBytes,
      clock: this.#options.clock ?? new SystemClock(),
      ...restored,
    });
  }

  #opened(): ChildPool {
    if (this.#pool !== undefined) return this.#pool;
    if (this.#folder === undefined) throw new Error("Monty is not installed.");
    const { warm = 2, most = 64 } = this.#options;
    const spec = { command: process.execPath, args: argumentsFor(this.#folder), frames: pythonFrames, closed: true };
    this.#pool = new ChildPool(spec, { warm, most, startsAtOnce: 2 });
    return this.#pool;
  }
}

/** Names that a script calls without saying whose they are. */
function callable(tools: Program["tools"]): ReadonlySet<string> {
  return new Set([...plainNames(tools).keys(), "progress"]);
}

function termsOf({ tools }: Program, { outputBytes, memoryBytes, stackDepth }: SandboxLimits): JsonObject {
  return { tools: tools.map(sketchOf), outputBytes, memoryBytes, ...(stackDepth !== undefined && { stackDepth }) };
}

/** @throws RuntimeFault when the child says something else, or nothing any more */
async function answered(child: SandboxProcess, order: JsonObject, wanted: string): Promise<JsonObject> {
  const late = setTimeout(() => child.kill(), 20_000);
  child.send(order);
  const heard = await child.receive();
  clearTimeout(late);
  if (heard.heard === "frame" && heard.frame[wanted] === true) return heard.frame;
  child.kill();
  if (wanted === "restored") throw broken();
  throw new RuntimeFault(
    "sandbox_failed",
    `Monty did not take the script: ${heard.heard === "frame" ? "it said something else." : heard.message}`,
  );
}

function readImage(image: Uint8Array): JsonObject {
  try {
    const state: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(image));
    if (isJsonObject(state)) return state;
  } catch {
    // told below
  }
  throw broken();
}

function broken(): RuntimeFault {
  return new RuntimeFault("image_broken", "The frozen script is damaged, or was frozen by another engine; replay it.");
}

function argumentsFor(folder: string): readonly string[] {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const program = fileURLToPath(new URL(`./inside-monty.${extension}`, import.meta.url));
  const source = join(dirname(program), "..", "..", "..");
  const packages = dirname(dirname(folder));
  const flags = permissionFlags([
    `${source}/*`,
    join(source, "..", "package.json"),
    `${packages}/@pydantic/*`,
    "/usr/bin/ldd",
  ]);
  return [...flags, "--allow-addons", "--max-old-space-size=128", program];
}

/** The package hides its package.json; it is found by its main file. */
function folderOf(): string | undefined {
  try {
    return realpathSync(dirname(fileURLToPath(import.meta.resolve("@pydantic/monty"))));
  } catch {
    return undefined; // not installed
  }
}

function versionIn(folder: string): string {
  const path = join(folder, "package.json");
  const { version }: { readonly version?: unknown } = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  return String(version);
}

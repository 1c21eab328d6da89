/** Full CPython as WebAssembly, in a Deno process without permissions. Slow to start, so one is kept warm; replayed, never frozen. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, SystemClock } from "../../core/clock.ts";
import { ChildPool } from "../child/pool.ts";
import type { SandboxDriver, SandboxLimits, SandboxSession, ScriptProgram } from "../sandbox.ts";
import { timeZones } from "./bubblewrap.ts";
import { pythonFrames, startScript } from "./child-script.ts";
import { denoArguments, denoEnvironment, findDeno, packageFolder } from "./deno.ts";
import { pyodideProgram } from "./prelude/prelude.ts";

export interface PyodideOptions {
  readonly clock?: Clock;
  readonly warm?: number;
  readonly most?: number;
}

/** Deno, V8's code of the interpreter, and the interpreter's own memory. */
const overheadBytes = 448 * 1024 * 1024;
const heapMegabytes = 256;
/** Compiling ten megabytes of WebAssembly on a busy machine. */
const startMs = 120_000;

export class PyodideDriver implements SandboxDriver, AsyncDisposable {
  readonly name = "pyodide";
  readonly capabilities = { language: "python", durability: "replay", isolation: "process", parallel: true } as const;
  readonly engine: string;
  readonly #options: PyodideOptions;
  readonly #folder = packageFolder("pyodide");
  readonly #deno = findDeno();
  #pool: ChildPool | undefined;

  constructor(options: PyodideOptions = {}) {
    this.#options = options;
    this.engine = `pyodide/${this.#folder === undefined ? "none" : versionIn(this.#folder)}`;
  }

  async unavailable(): Promise<string | undefined> {
    if (this.#folder === undefined) return "the package `pyodide` is not installed (npm install pyodide)";
    return this.#deno === undefined ? "`deno` is not installed (npm install deno)" : undefined;
  }

  /** Starts what shall be warm, so that the first script need not wait. */
  warm(): void {
    this.#opened().warm();
  }

  async start(program: ScriptProgram, limits: SandboxLimits): Promise<SandboxSession> {
    const { clock = new SystemClock() } = this.#options;
    return await startScript(program, limits, { pool: this.#opened(), clock, overheadBytes });
  }

  restore(): Promise<SandboxSession> {
    return Promise.reject(new Error("Pyodide cannot be frozen; its script is replayed."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  #opened(): ChildPool {
    if (this.#pool !== undefined) return this.#pool;
    if (this.#folder === undefined || this.#deno === undefined) throw new Error("Pyodide or Deno is not installed.");
    const { warm = 1, most = 8 } = this.#options;
    const zones = existsSync(timeZones) ? [realpathSync(timeZones)] : [];
    const hello = { pyodide: this.#folder, program: pyodideProgram, zones: zones[0] ?? null };
    const args = denoArguments(inside, [this.#folder, ...zones], heapMegabytes);
    const spec = {
      ...{ command: this.#deno, args, frames: pythonFrames },
      ...{ hello, closed: true, startMs },
      environment: denoEnvironment,
    };
    this.#pool = new ChildPool(spec, { warm, most, startsAtOnce: 1 });
    return this.#pool;
  }
}

const inside = fileURLToPath(
  new URL(`./inside-pyodide.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url),
);

function versionIn(folder: string): string {
  const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return String(version);
}

/** Python of this machine, closed in by bubblewrap. Everything the language has; replayed, never frozen. */
import { type Clock, SystemClock } from "../../core/clock.ts";
import { ChildPool } from "../child/pool.ts";
import type { SandboxDriver, SandboxLimits, SandboxSession, ScriptProgram } from "../sandbox.ts";
import { fileBytes, type Isolation, isolate } from "./bubblewrap.ts";
import { pythonFrames, startScript } from "./child-script.ts";
import { cpythonProgram } from "./prelude/prelude.ts";

export interface CpythonOptions {
  readonly clock?: Clock;
  /** Ready before a script needs one. */
  readonly warm?: number;
  readonly most?: number;
}

/** Address space of the interpreter and its libraries, before a script has anything. */
const overheadBytes = 96 * 1024 * 1024;
/** Its two folders in memory. */
const placeBytes = 2 * fileBytes;

/** Tried once a process: what a machine can do does not change while we run. */
let isolation: Promise<Isolation | { readonly missing: string }> | undefined;

export class CpythonDriver implements SandboxDriver, AsyncDisposable {
  readonly name = "cpython";
  readonly capabilities = { language: "python", durability: "replay", isolation: "kernel", parallel: true } as const;
  readonly engine = "cpython-bubblewrap-1";
  readonly #options: CpythonOptions;
  #pool: ChildPool | undefined;

  constructor(options: CpythonOptions = {}) {
    this.#options = options;
  }

  async unavailable(): Promise<string | undefined> {
    const found = await this.#isolated();
    return "missing" in found ? found.missing : undefined;
  }

  async start(program: ScriptProgram, limits: SandboxLimits): Promise<SandboxSession> {
    const found = await this.#isolated();
    if ("missing" in found) throw new Error(`CPython cannot run here: ${found.missing}.`);
    const { command, args, groups } = found;
    const { clock = new SystemClock(), warm = 1, most = 32 } = this.#options;
    this.#pool ??= new ChildPool(
      { command, args, groups, frames: pythonFrames, closed: false },
      { warm, most, startsAtOnce: 2 },
    );
    return await startScript(program, limits, {
      ...{ pool: this.#pool, clock, overheadBytes, placeBytes, terms: { fileBytes } },
      reading: endOf,
    });
  }

  restore(): Promise<SandboxSession> {
    return Promise.reject(new Error("CPython cannot be frozen; its script is replayed."));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool?.[Symbol.asyncDispose]();
  }

  #isolated(): Promise<Isolation | { readonly missing: string }> {
    isolation ??= isolate(cpythonProgram);
    return isolation;
  }
}

/** bubblewrap tells the signal that ended what it wrapped as 128 and its number. */
function endOf(message: string): "cpu" | "memory" | undefined {
  if (/code 152\b|SIGXCPU/.test(message)) return "cpu";
  if (/code 134\b|SIGABRT/.test(message)) return "memory"; // Python gives itself up where it has no memory left to raise an error
  return /code 137\b/.test(message) ? "cpu" : undefined; // the hard limit of processor time ends with SIGKILL
}

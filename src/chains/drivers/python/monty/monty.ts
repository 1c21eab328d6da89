/** Python on Monty: the part of the language that starts in no time, is checked before it runs, and can be frozen. */
import { readdirSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, SystemClock } from "../../../../calls/clock.ts";
import { RuntimeFault } from "../../../../calls/fault.ts";
import { isJsonObject, type JsonObject } from "../../../../calls/json.ts";
import { onceFor } from "../../../once-for.ts";
import type { Program, SandboxDriver, SandboxLimits, SandboxSession } from "../../../sandbox.ts";
import { buildStamp } from "../../child/build-stamp.ts";
import type { ChildSpec, SandboxProcess } from "../../child/child-process.ts";
import { packagePlaces, permissionFlags, programBeside, readableFor } from "../../child/fences.ts";
import { allButOne, ChildPool } from "../../child/pool.ts";
import { ChildSession } from "../../child/session.ts";
import { longestScriptBytes, MontyChecker, type Verdict } from "../checking/monty-checker.ts";
import { checkerRole } from "../checking/monty-rehearsal.ts";
import { pythonFrames, sketchOf } from "../child-script.ts";
import { packageFolder } from "../cpython/deno.ts";
import { rewritten } from "./monty-rewrite.ts";

export interface MontyOptions {
  readonly clock?: Clock;
  readonly warm?: number;
  readonly most?: number;
  /** What the processes run, where it is not what lies beside this file. */
  readonly program?: string;
}

const overheadBytes = 192 * 1024 * 1024;
/** Of short scripts: a start, and each step from call to call, are compiled by then. */
const runnerRehearsals = 8;
/** Of one long script. */
const checkerRehearsals = 1;

export class MontyDriver implements SandboxDriver, AsyncDisposable {
  readonly name = "monty";
  readonly capabilities = { language: "python", durability: "snapshot", isolation: "process", parallel: true } as const;
  readonly #options: MontyOptions;
  readonly #folder = packageFolder("@pydantic/monty") ?? folderOf();
  readonly #program: string;
  #stamp: Promise<string> | undefined;
  #engine = "monty/none";
  #pool: ChildPool | undefined;
  #checker: MontyChecker | undefined;

  constructor(options: MontyOptions = {}) {
    this.#options = options;
    this.#program = options.program ?? programBeside(import.meta.url, "inside-monty");
  }

  /** Known once a script was checked: what it depends on is read while the first process starts. */
  get engine(): string {
    return this.#engine;
  }

  async unavailable(): Promise<string | undefined> {
    if (this.#folder === undefined)
      return "the package `@pydantic/monty` is not installed (npm install @pydantic/monty)";
    return interpretersIn(this.#folder).some((path) => path.endsWith(".node"))
      ? undefined
      : "`@pydantic/monty` has no interpreter for this machine here; install it again, with optional packages";
  }

  async check(program: Program, signal?: AbortSignal): Promise<Verdict> {
    const [verdict] = await Promise.all([this.#reader().verdict(program, signal), this.#stamped()]);
    return verdict;
  }

  warm(): void {
    this.#opened().warm();
    this.#reader().warm();
  }

  async start(program: Program, limits: SandboxLimits): Promise<SandboxSession> {
    if (Buffer.byteLength(program.source) > longestScriptBytes)
      throw new RuntimeFault(
        "sandbox_failed",
        `Monty takes scripts of ${longestScriptBytes} bytes; ask \`check\` first.`,
      );
    const own = rewritten(program);
    const source = "source" in own ? own.source : program.source;
    const child = await this.#opened().take(program.owner, limits.signal);
    await answered(child, { do: "start", source, ...termsOf(program, limits) }, "started");
    return this.#session(child, limits);
  }

  async restore(image: Uint8Array, limits: SandboxLimits, owner?: string): Promise<SandboxSession> {
    const state = readImage(image);
    const child = await this.#opened().take(owner, limits.signal);
    const order = { do: "restore", state, outputBytes: limits.outputBytes, memoryBytes: limits.memoryBytes };
    const { places, open } = await answered(child, order, "restored");
    if (typeof places !== "number" || !Array.isArray(open) || !open.every((place) => typeof place === "number"))
      throw broken();
    return this.#session(child, limits, { places, asked: open });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool, this.#checker].map((each) => each?.[Symbol.asyncDispose]()));
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

  async #stamped(): Promise<void> {
    this.#stamp ??= buildStamp(this.#program, interpretersIn(this.#folder ?? ""));
    this.#engine = `monty/${await this.#stamp}`;
  }

  #opened(): ChildPool {
    const { warm = 2, most = 64 } = this.#options;
    this.#pool ??= new ChildPool(this.#spec(runnerRehearsals), { warm, most, startsAtOnce: allButOne() });
    return this.#pool;
  }

  #reader(): MontyChecker {
    this.#checker ??= new MontyChecker(
      this.#spec(checkerRehearsals, checkerRole),
      this.#options.clock ?? new SystemClock(),
    );
    return this.#checker;
  }

  #spec(rehearsals: number, ...role: readonly string[]): ChildSpec {
    if (this.#folder === undefined) throw new Error("Monty is not installed.");
    const args = [...argumentsFor(this.#folder, this.#program), ...role];
    return { command: process.execPath, args, frames: pythonFrames, closed: true, rehearsals };
  }
}

function termsOf({ tools }: Program, { outputBytes, memoryBytes, wallMs }: SandboxLimits): JsonObject {
  return { tools: toldOf(tools), outputBytes, memoryBytes, wallMs };
}

/** As one text, which is spelled once for many scripts. What a tool does, nobody asks for in there. */
const toldOf = onceFor((tools: Program["tools"]) =>
  JSON.stringify(tools.map((tool) => sketchOf({ ...tool, description: "" }))),
);

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

function argumentsFor(folder: string, program: string): readonly string[] {
  const flags = permissionFlags([
    ...readableFor(program),
    `${dirname(dirname(folder))}/@pydantic/*`,
    ...packagePlaces(program, "@pydantic"),
    "/usr/bin/ldd",
  ]);
  return [
    ...flags,
    "--allow-addons",
    "--max-old-space-size=128",
    "--max-semi-space-size=1", // what it has by the end of its rehearsal it uses again: a page met first is slow
    "--single-threaded-gc",
    "--expose-gc", // what the rehearsal leaves is collected before a script comes
    "--v8-pool-size=1", // what compiles beside it wants the processor that its host is on
    program,
  ];
}

/** The package hides its package.json; it is found by its main file. */
function folderOf(): string | undefined {
  try {
    return realpathSync(dirname(fileURLToPath(import.meta.resolve("@pydantic/monty"))));
  } catch {
    return undefined; // not installed
  }
}

/** The interpreter is a package of its own for each kind of machine, beside the one that loads it. */
function interpretersIn(folder: string): readonly string[] {
  const around = dirname(folder);
  const names = readdirSync(around).filter((name) => name.startsWith("monty-"));
  const natives = names
    .sort()
    .flatMap((name) => readdirSync(join(around, name)).map((file) => join(around, name, file)));
  return [...natives.filter((path) => path.endsWith(".node")), join(folder, "wrapper.js")];
}

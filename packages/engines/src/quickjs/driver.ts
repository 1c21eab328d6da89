/** JavaScript and TypeScript on QuickJS, in a process of their own. */
import { hash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, type JsonObject, RuntimeFault, SystemClock } from "@postern/core";
import {
  argumentBoundsOf,
  type SandboxDriver,
  type SandboxLimits,
  type SandboxSession,
  type ScriptProgram,
} from "@postern/core/sandbox";
import { buildStamp } from "../child/build-stamp.ts";
import type { ChildSpec, SandboxProcess } from "../child/child-process.ts";
import { packagePlaces, permissionFlags, programBeside, readableFor } from "../child/fences.ts";
import { maxFrameBytes } from "../child/frames.ts";
import { ChildPool, type PoolOptions } from "../child/pool.ts";
import { ChildSession, type SessionTerms } from "../child/session.ts";
import { foreignWord } from "./foreign-words.ts";
import { readHead } from "./image.ts";
import { offeredNames } from "./offered-names.ts";
import { preludeSource } from "./prelude.ts";

export interface QuickJsOptions extends Partial<PoolOptions> {
  readonly clock?: Clock;
  /** The program of the child processes. Default: the one beside this file. */
  readonly program?: string;
  /** The most memory of a script. */
  readonly memoryBytes?: number;
}

/** A driver that keeps processes warm; `close` ends those that wait. */
export interface WarmDriver extends SandboxDriver, AsyncDisposable {
  warm(): void;
}

const maxFrameDepth = 512;
/** The memory of a Node process with a loaded engine. */
const overheadBytes = 192 * 1024 * 1024;
const longestAnswerMs = 30_000;
const longestScriptBytes = 1024 * 1024;

/** @throws Error when the package `quickjs-wasi` is not installed */
export async function quickJsDriver(options: QuickJsOptions = {}): Promise<WarmDriver> {
  const wasmPath = await realpath(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const program = options.program ?? programBeside(import.meta.url, "inside-quickjs");
  const engine = `quickjs-wasi/${await buildStamp(program, [wasmPath, ...extensionsOf(wasmPath).map(({ path }) => path)], [preludeSource])}`;
  const spec = specOf(wasmPath, engine, { ...options, program });
  const usual = { warm: 2, most: 64, startsAtOnce: Math.max(1, availableParallelism() - 1), scriptsEach: 500 };
  const pool = new ChildPool(spec, { ...usual, ...options });
  const clock = options.clock ?? new SystemClock();
  const termsOf = (child: SandboxProcess, limits: SandboxLimits, owner: string | undefined): SessionSlice => {
    return { limits, overheadBytes, clock, release: () => void pool.release(child, owner) };
  };
  return {
    name: "quickjs",
    capabilities: { language: "javascript", durability: "snapshot", isolation: "wasm", parallel: true },
    engine,
    unavailable: () => wasmProblem(wasmPath),
    check: async (script) => problemOf(script),
    start: async (program, limits) => {
      const child = await pool.take(program.owner, limits.signal);
      return begun(child, program, termsOf(child, limits, program.owner));
    },
    restore: async (image, limits, owner) => {
      const fault = misfit(image, engine);
      if (fault !== undefined) throw fault;
      const child = await pool.take(owner, limits.signal);
      return thawed(child, image, termsOf(child, limits, owner));
    },
    warm: () => pool.warm(),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

/** Returns why the engine's file cannot be used. */
export async function wasmProblem(wasmPath: string): Promise<string | undefined> {
  const bytes = await readFile(wasmPath).catch(() => undefined);
  if (bytes !== undefined && WebAssembly.validate(bytes)) return undefined;
  return `\`${wasmPath}\` is damaged; install \`quickjs-wasi\` again`;
}

type SessionSlice = Pick<SessionTerms, "limits" | "overheadBytes" | "clock" | "release">;

async function begun(child: SandboxProcess, program: ScriptProgram, terms: SessionSlice): Promise<SandboxSession> {
  const { source, language, chainId, startedAt = terms.clock.now(), tools } = program;
  const { outputBytes } = terms.limits;
  const { argumentBytes } = argumentBoundsOf(terms.limits);
  await answered(child, {
    ...{ do: "start", source, language, seed: seedOf(chainId), startedAt },
    setting: JSON.stringify({ names: offeredNames(tools), outputBytes, argumentBytes }), // a script asks for documentation when it needs it
    ...boundsOf(terms.limits),
  });
  return new ChildSession(child, terms);
}

async function thawed(child: SandboxProcess, image: Uint8Array, terms: SessionSlice): Promise<SandboxSession> {
  const encoded = Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString("base64");
  const { places, open } = await answered(child, { do: "restore", image: encoded, ...boundsOf(terms.limits) });
  if (typeof places !== "number" || !Array.isArray(open) || !open.every((place) => typeof place === "number")) {
    child.kill();
    throw new RuntimeFault(
      "internal",
      "The frozen script has no record of the calls that it waits for; start it again.",
    );
  }
  return new ChildSession(child, { ...terms, places, asked: open });
}

function boundsOf(limits: SandboxLimits): JsonObject {
  const { memoryBytes, outputBytes } = limits;
  return { memoryBytes, outputBytes, ...argumentBoundsOf(limits) };
}

/** @throws RuntimeFault `internal` */
async function answered(child: SandboxProcess, order: JsonObject): Promise<JsonObject> {
  const wanted = order["do"] === "restore" ? "restored" : "started";
  const answer = await child.ask(order, longestAnswerMs);
  if (answer.kind === "frame" && answer.frame[wanted] === true) return answer.frame;
  child.kill();
  const why =
    answer.kind === "frame" ? String(answer.frame["foreign"] ?? "It sent an unexpected frame.") : answer.message;
  throw new RuntimeFault(
    "internal",
    wanted === "restored"
      ? `The frozen script cannot be thawed: ${why} Start it again.`
      : `The engine did not take the script: ${why}`,
  );
}

/** The seed of random numbers: a replay gets the same numbers. */
function seedOf(chainId: string): readonly number[] {
  const digest = hash("sha256", chainId, "buffer");
  return [0, 4, 8, 12].map((at) => digest.readUInt32LE(at));
}

/** The parts of a script that are refused before it runs. */
function problemOf({ source }: ScriptProgram): { readonly invalid: string } | undefined {
  const bytes = Buffer.byteLength(source);
  const invalid =
    bytes > longestScriptBytes ? `The script has ${bytes} bytes; ${longestScriptBytes} may be.` : foreignWord(source);
  return invalid === undefined ? undefined : { invalid };
}

function misfit(image: Uint8Array, engine: string): RuntimeFault | undefined {
  const found = readHead(image);
  if (found === undefined)
    return new RuntimeFault("internal", "The frozen script is damaged, or was frozen by another engine.");
  if (found.head.engine === engine) return undefined;
  return new RuntimeFault(
    "internal",
    `The frozen script is of \`${found.head.engine}\` and here is \`${engine}\`; replay it.`,
  );
}

/** The engine's extensions, in the order in which they are loaded. */
export function extensionsOf(wasmPath: string): readonly { readonly name: string; readonly path: string }[] {
  const folder = join(dirname(wasmPath), "extensions");
  return ["url", "encoding", "structured-clone"].map((name) => ({ name, path: join(folder, name, `${name}.so`) }));
}

const usualHeapBytes = 512 * 1024 * 1024;

/** V8's heap limit. A script's memory counts, and from half the limit on each growth starts a collection. */
function heapMegabytes(memoryBytes = 0): number {
  return Math.ceil(Math.max(usualHeapBytes, 4 * memoryBytes) / 2 ** 20);
}

function specOf(
  wasmPath: string,
  engine: string,
  { program, memoryBytes }: QuickJsOptions & { readonly program: string },
): ChildSpec {
  const packages = [`${dirname(wasmPath)}/*`, ...packagePlaces(program, "quickjs-wasi")];
  const flags = permissionFlags([...readableFor(program), ...packages]);
  return {
    command: process.execPath,
    args: [
      ...flags,
      "--stack-size=3900",
      `--max-old-space-size=${heapMegabytes(memoryBytes)}`,
      "--max-semi-space-size=1",
      "--single-threaded-gc", // else a script that fills its memory uses every processor
      "--v8-pool-size=1", // each compiler thread keeps megabytes
      "--expose-gc", // garbage is collected before the next script
      program,
    ],
    hello: { wasm: wasmPath, extensions: extensionsOf(wasmPath), engine, prelude: preludeSource },
    frames: { maxBytes: maxFrameBytes, maxDepth: maxFrameDepth },
    closed: true,
  };
}

/** JavaScript and TypeScript on QuickJS, in a process of their own. */
import { createHash } from "node:crypto";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, SystemClock } from "../../../calls/clock.ts";
import { RuntimeFault } from "../../../calls/fault.ts";
import type { JsonObject } from "../../../calls/json.ts";
import type { Program, SandboxDriver, SandboxLimits, SandboxSession } from "../../sandbox.ts";
import type { ChildSpec, SandboxProcess } from "../child/child-process.ts";
import { permissionFlags } from "../child/fences.ts";
import { ChildPool, type PoolOptions } from "../child/pool.ts";
import { ChildSession } from "../child/session.ts";
import { readHead } from "./image.ts";
import { preludeSource } from "./prelude.ts";

export interface QuickJsOptions extends Partial<PoolOptions> {
  readonly clock?: Clock;
}

/** A driver that keeps processes warm; `close` ends those that wait. */
export interface WarmDriver extends SandboxDriver, AsyncDisposable {
  warm(): void;
}

const maxFrameBytes = 32 * 1024 * 1024;
const maxFrameDepth = 512;
/** What a Node process with a loaded engine takes for itself. */
const overheadBytes = 192 * 1024 * 1024;
const longestAnswerMs = 30_000;
const longestScriptBytes = 1024 * 1024;

/** @throws Error when the package is not there */
export async function quickJsDriver(options: QuickJsOptions = {}): Promise<WarmDriver> {
  const wasmPath = await realpath(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const engine = await engineName(wasmPath);
  const pool = new ChildPool(specOf(wasmPath, engine), { warm: 2, most: 64, startsAtOnce: 2, ...options });
  const clock = options.clock ?? new SystemClock();
  return {
    name: "quickjs",
    capabilities: { language: "javascript", durability: "snapshot", isolation: "wasm", parallel: true },
    engine,
    unavailable: async () => undefined,
    check: async (program) => tooLong(program),
    start: async (program, limits) => begun(await pool.take(), program, { limits, clock }),
    restore: async (image, limits) => {
      const fault = misfit(image, engine);
      if (fault !== undefined) throw fault;
      return thawed(await pool.take(), image, { limits, clock });
    },
    warm: () => pool.warm(),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

interface Terms {
  readonly limits: SandboxLimits;
  readonly clock: Clock;
}

async function begun(child: SandboxProcess, program: Program, { limits, clock }: Terms): Promise<SandboxSession> {
  await answered(child, { do: "start", program: orderOf(program), ...boundsOf(limits) });
  return new ChildSession(child, { limits, overheadBytes, clock });
}

async function thawed(child: SandboxProcess, image: Uint8Array, { limits, clock }: Terms): Promise<SandboxSession> {
  const encoded = Buffer.from(image.buffer, image.byteOffset, image.byteLength).toString("base64");
  const { places, open } = await answered(child, { do: "restore", image: encoded, ...boundsOf(limits) });
  if (typeof places !== "number" || !Array.isArray(open) || !open.every((place) => typeof place === "number")) {
    child.kill();
    throw new RuntimeFault("image_broken", "The frozen script does not say what it waits for; start it again.");
  }
  return new ChildSession(child, { limits, overheadBytes, clock, places, asked: open });
}

function boundsOf({ memoryBytes, outputBytes }: SandboxLimits): JsonObject {
  return { memoryBytes, outputBytes };
}

/** @throws RuntimeFault `sandbox_failed`, or `image_broken` when the engine could not make sense of an image */
async function answered(child: SandboxProcess, order: JsonObject): Promise<JsonObject> {
  const wanted = order["do"] === "restore" ? "restored" : "started";
  const heard = await child.ask(order, longestAnswerMs);
  if (heard.heard === "frame" && heard.frame[wanted] === true) return heard.frame;
  child.kill();
  const why = heard.heard === "frame" ? String(heard.frame["foreign"] ?? "It said something else.") : heard.message;
  throw new RuntimeFault(
    wanted === "restored" ? "image_broken" : "sandbox_failed",
    wanted === "restored"
      ? `The frozen script cannot be thawed: ${why} Start it again.`
      : `The engine did not take the script: ${why}`,
  );
}

/** Only names go in: documentation is asked for when it is wanted, and every image is smaller for it. */
function orderOf({ language, source, tools, chainId }: Program): JsonObject {
  return { language, source, chainId, names: tools.map(({ name, server, short }) => [name, server ?? null, short]) };
}

function tooLong({ source }: Program): { readonly invalid: string } | undefined {
  const bytes = Buffer.byteLength(source);
  if (bytes <= longestScriptBytes) return undefined;
  return { invalid: `The script has ${bytes} bytes; ${longestScriptBytes} may be.` };
}

function misfit(image: Uint8Array, engine: string): RuntimeFault | undefined {
  const found = readHead(image);
  if (found === undefined)
    return new RuntimeFault("image_broken", "The frozen script is damaged, or was frozen by another engine.");
  if (found.head.engine === engine) return undefined;
  return new RuntimeFault(
    "image_foreign",
    `The frozen script is of \`${found.head.engine}\` and here is \`${engine}\`; replay it.`,
  );
}

/** Package and content of what an image depends on: engine and prelude are both in its memory. */
async function engineName(wasmPath: string): Promise<string> {
  const digest = createHash("sha256")
    .update(await readFile(wasmPath))
    .update(preludeSource)
    .digest("hex");
  return `quickjs-wasi/${digest.slice(0, 16)}`;
}

function specOf(wasmPath: string, engine: string): ChildSpec {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const program = fileURLToPath(new URL(`./inside-quickjs.${extension}`, import.meta.url));
  const source = join(dirname(program), "..", "..", "..");
  const flags = permissionFlags([`${source}/*`, join(source, "..", "package.json"), `${dirname(wasmPath)}/*`]);
  return {
    command: process.execPath,
    args: [
      ...flags,
      "--stack-size=3900",
      "--max-old-space-size=192",
      "--max-semi-space-size=1",
      program,
      wasmPath,
      engine,
    ],
    frames: { maxBytes: maxFrameBytes, maxDepth: maxFrameDepth },
    closed: true,
    rehearses: true,
  };
}

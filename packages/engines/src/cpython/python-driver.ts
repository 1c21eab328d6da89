/** Runs scripts in Python sandboxes: the common part of every engine that runs CPython, wherever its process is. */
import { type Clock, isJsonObject, type JsonObject, SystemClock } from "@postern/core";
import {
  argumentBoundsOf,
  type SandboxDriver,
  type SandboxLimits,
  type SandboxSession,
  type ScriptProgram,
} from "@postern/core/sandbox";
import type { SandboxEnd } from "../child/frame-line.ts";
import { type FrameLimits, maxFrameBytes } from "../child/frames.ts";
import { ChildSession, type SessionTerms } from "../child/session.ts";

export interface PythonOptions {
  readonly clock?: Clock;
  /** Sandboxes that are ready before a script needs one. */
  readonly warm?: number;
  /** The most sandboxes at once. */
  readonly most?: number;
}

/** The limits of frames from Python. */
export const pythonFrames: FrameLimits = { maxBytes: maxFrameBytes, maxDepth: 250 };
/** Size of each of the two folders in memory that a script may write to. */
export const folderBytes: number = 16 * 1024 * 1024;

/** The source of a driver's sandboxes, and their memory. */
export interface PythonSandboxes {
  readonly pool: { take(owner: string | undefined, signal: AbortSignal | undefined): Promise<SandboxEnd> };
  /** Memory of the process besides the script's own. */
  readonly overheadBytes: number;
  /** Memory around the process that counts too, such as its folders. */
  readonly placeBytes?: number;
  readonly limitOf?: SessionTerms["limitOf"];
}

/** A sandbox that does not take its script in this time is killed: its connection may be dead. */
const handOverMs = 30_000;

/** A driver of CPython: its scripts are replayed, never frozen. */
export abstract class PythonDriver implements SandboxDriver, AsyncDisposable {
  abstract readonly name: string;
  abstract readonly engine: string;
  abstract readonly capabilities: SandboxDriver["capabilities"];
  protected readonly clock: Clock;

  constructor({ clock = new SystemClock() }: PythonOptions) {
    this.clock = clock;
  }

  abstract unavailable(): Promise<string | undefined>;
  abstract [Symbol.asyncDispose](): Promise<void>;
  /** @throws Error when it cannot run here */
  protected abstract sandboxes(limits: SandboxLimits): Promise<PythonSandboxes>;

  async start(program: ScriptProgram, limits: SandboxLimits): Promise<SandboxSession> {
    const { pool, overheadBytes, placeBytes = 0, limitOf } = await this.sandboxes(limits);
    const child = await pool.take(program.owner, limits.signal);
    child.send({
      ...{ do: "start", source: program.source, tools: program.tools.map(sketchOf), seed: program.chainId },
      ...{ startedAt: program.startedAt ?? this.clock.now(), outputBytes: limits.outputBytes, overheadBytes },
      ...{ ...argumentBoundsOf(limits), memoryBytes: limits.memoryBytes, fileBytes: folderBytes },
    });
    const inTime = this.clock.in(handOverMs, () => child.kill());
    const answer = await child.receive();
    inTime();
    const terms = { limits, overheadBytes: overheadBytes + placeBytes, clock: this.clock };
    const session = new ChildSession(child, { ...terms, ...(limitOf !== undefined && { limitOf }) });
    if (answer.kind === "frame" && answer.frame["started"] === true) return session;
    await session[Symbol.asyncDispose]();
    const why = answer.kind === "frame" ? "the sandbox sent an unexpected frame." : answer.message;
    throw new Error(`The script could not be handed over: ${why}`);
  }

  restore(): Promise<SandboxSession> {
    return Promise.reject(new Error(`\`${this.name}\` cannot freeze a script; it is replayed.`));
  }
}

/** A tool in the form that a child gets: without the schemas of its members. */
function sketchOf({ inputSchema, server, isAction, ...rest }: ScriptProgram["tools"][number]): JsonObject {
  const { properties } = inputSchema;
  const members = isJsonObject(properties) ? Object.keys(properties).map((key) => [key, {}] as const) : undefined;
  return {
    ...rest,
    inputSchema: members === undefined ? {} : { properties: Object.fromEntries(members) },
    ...(server !== undefined && { server }),
    ...(isAction && { isAction }),
  };
}

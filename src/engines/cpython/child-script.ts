/** Starts a script in a Python sandbox. */
import type { Clock } from "../../core/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";
import type { SandboxEnd } from "../child/frame-line.ts";
import { type FrameLimits, frameSizes } from "../child/frames.ts";
import { ChildSession } from "../child/session.ts";
import { usualArgumentBytes } from "../large-arguments.ts";
import { onceFor } from "../once-for.ts";
import type { SandboxLimits, SandboxSession, ScriptProgram, ScriptStep } from "../sandbox.ts";

/** The limits of frames from Python. */
export const pythonFrames: FrameLimits = { ...frameSizes, maxDepth: 250 };

export interface PythonEnd {
  readonly pool: { take(owner: string | undefined, signal: AbortSignal | undefined): Promise<SandboxEnd> };
  readonly clock: Clock;
  /** What the process needs besides the script's own memory. */
  readonly overheadBytes: number;
  /** Memory around the process that counts too, such as its folders. */
  readonly placeBytes?: number;
  /** More members of the first message. */
  readonly terms?: JsonObject;
  /** Reads the reason from how a process ended. */
  readonly reading?: StopReader;
}

/** A sandbox that does not take its script in this time is killed: its connection may be dead. */
const handOverMs = 30_000;

export async function startScript(
  program: ScriptProgram,
  limits: SandboxLimits,
  end: PythonEnd,
): Promise<SandboxSession> {
  const child = await end.pool.take(program.owner, limits.signal);
  const { reading } = end;
  child.send({
    do: "start",
    source: program.source,
    tools: sketchesOf(program.tools),
    seed: program.chainId,
    startedAt: program.startedAt ?? end.clock.now(),
    outputBytes: limits.outputBytes,
    argumentBytes: limits.argumentBytes ?? usualArgumentBytes,
    memoryBytes: limits.memoryBytes,
    overheadBytes: end.overheadBytes,
    ...end.terms,
  });
  const inTime = end.clock.in(handOverMs, () => child.kill());
  const answer = await child.receive();
  inTime();
  const started = answer.heard === "frame" && answer.frame["started"] === true;
  const overheadBytes = end.overheadBytes + (end.placeBytes ?? 0);
  const session = new ChildSession(child, {
    ...{ limits, overheadBytes, clock: end.clock },
  });
  if (started) return reading === undefined ? session : new ReadSession(session, reading);
  await session[Symbol.asyncDispose]();
  throw new Error(
    `The script could not be handed over: ${answer.heard === "frame" ? "the sandbox sent an unexpected frame." : answer.message}`,
  );
}

const sketchesOf = onceFor((tools: ScriptProgram["tools"]) => tools.map(sketchOf));

/** As a child is told of one. */
export function sketchOf({ name, server, short, isAction, ...rest }: ScriptProgram["tools"][number]): Json {
  const { description, inputSchema } = rest;
  const { properties } = inputSchema;
  const shown = isJsonObject(properties)
    ? { properties: Object.fromEntries(Object.keys(properties).map((key) => [key, {}])) }
    : {};
  const grouped = { ...(server !== undefined && { server }), ...(isAction && { isAction }) };
  return { name, short, description, inputSchema: shown, ...grouped };
}

type StopReader = (message: string) => Extract<ScriptStep, { step: "failed" }>["why"] | undefined;

/** A session whose process is ended by the kernel's own limits: what that means is read from how it ended. */
class ReadSession implements SandboxSession {
  readonly #inner: ChildSession;
  readonly #reading: StopReader;

  constructor(inner: ChildSession, reading: StopReader) {
    this.#inner = inner;
    this.#reading = reading;
  }

  get pid(): number | undefined {
    return this.#inner.pid;
  }

  async next(): Promise<ScriptStep> {
    const step = await this.#inner.next();
    if (step.step !== "failed" || step.why !== "crash") return step;
    const why = this.#reading(step.message);
    return why === undefined ? step : { ...step, why, message: meanings.get(why) ?? step.message };
  }

  settle(results: Parameters<SandboxSession["settle"]>[0]): void {
    this.#inner.settle(results);
  }

  freeze(): Promise<Uint8Array> {
    return Promise.reject(new Error("CPython cannot be frozen; its script is replayed."));
  }

  kill(): void {
    this.#inner.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#inner[Symbol.asyncDispose]();
  }
}

const meanings: ReadonlyMap<string, string> = new Map([
  ["cpu", "The script used more processor time than it may and was stopped."],
  ["memory", "The script needed more memory than it has and was stopped."],
]);

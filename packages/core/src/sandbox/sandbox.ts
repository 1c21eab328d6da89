/**
 * The port of code mode: an engine that runs scripts, in any language.
 * Invariant: an engine has no function of the host. It yields calls, gets their results, and can be frozen in between.
 * So a script can only ask, and every call passes every gate.
 * Next: code-mode/drive.ts (the loop), quickjs/ and cpython/ (engines), child/ (the process of each engine).
 */
import type { Json, JsonObject } from "../json.ts";

/** An engine that scripts run in. */
export interface SandboxDriver {
  /** `quickjs`, `cpython`, `pyodide`, … */
  readonly name: string;
  readonly capabilities: {
    readonly language: "javascript" | "python";
    readonly durability: "snapshot" | "replay";
    readonly isolation: "wasm" | "process" | "kernel" | "vm";
    readonly parallel: boolean;
  };
  /** The build of the engine. Images record it. */
  readonly engine: string;
  /** Returns why it cannot run here (no bubblewrap, no deno…), or undefined. Such an engine is refused and never runs less isolated. */
  unavailable(): Promise<string | undefined>;
  /**
   * Returns what the engine cannot do of the program, before it runs, or undefined. `unsupported` moves the script to
   * the next engine. After `signal` is aborted the result is not used, and the engine should free its memory.
   */
  check?(
    program: ScriptProgram,
    signal?: AbortSignal,
  ): Promise<{ readonly unsupported: string } | { readonly invalid: string } | undefined>;
  /** Prepares for the next script. */
  warm?(): void;
  start(program: ScriptProgram, limits: SandboxLimits): Promise<SandboxSession>;
  /** Durability `snapshot` only. */
  restore(image: Uint8Array, limits: SandboxLimits, owner?: string): Promise<SandboxSession>;
}

export interface ScriptProgram {
  readonly language: "javascript" | "typescript" | "python";
  readonly source: string;
  readonly tools: readonly ToolSketch[];
  readonly chainId: string;
  /** Wall clock in milliseconds when it was first sent. The clock of an engine that replays begins there each time. */
  readonly startedAt?: number;
  /** Only scripts of the same owner may run in the same process later. Without an owner, no other script does. */
  readonly owner?: string;
}

/** A tool as the prelude offers it: `tools.server.tool`, and `tools.tool` if only one tool has the short name. */
export interface ToolSketch {
  readonly name: string;
  readonly server: string | undefined;
  readonly short: string;
  /** `short` is one of several actions of the tool `server`; it is not offered without the tool's name. */
  readonly isAction?: true;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface SandboxLimits {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly wallMs: number;
  /** Bytes of one call's arguments as JSON. Default 4 MiB. */
  readonly argumentBytes?: number;
  /** Values and names in one call's arguments, and in the answer. Default 100,000. */
  readonly argumentValues?: number;
  /** After it is aborted, a session that still comes is closed. */
  readonly signal?: AbortSignal;
}

/** Calls may be settled one by one: `calls` is empty while a script only waits for the rest. */
export type ScriptStep =
  | {
      readonly step: "calls";
      readonly calls: readonly AskedCall[];
      /** Milliseconds until the script's next timer is due. Left out when no timer runs. */
      readonly timerMs?: number;
      readonly printed?: readonly Printed[];
    }
  | { readonly step: "done"; readonly value: Json | undefined; readonly printed?: readonly Printed[] }
  | {
      readonly step: "failed";
      readonly why: "script" | "cpu" | "memory" | "output" | "deadlock" | "crash" | "protocol" | "wall" | "unsupported";
      readonly message: string;
      readonly line?: number;
      readonly printed?: readonly Printed[];
    };

/**
 * One question of a script. `place` counts all of them in their order, and answers name it. Idempotency keys count only
 * those of the kind `call`. `line` is the line of the source.
 * Kinds other than `call` are answered by Postern, never by a tool. Their `tool` is the kind's name, and:
 * `help` asks `{tool?}` and gets `{text}`; `materialize` asks `{ref}` or `{text}` and gets `{path, media_type, bytes,
 * text}` or `{…, base64}`; `artifact` sends `{type?, text}`, `{…, base64}` or, for content sent before with `piece:
 * true`, `{…, pieces: [ref, …]}`, and gets `{ref, media_type, bytes}`; `progress` sends `{message, fraction?}` and gets
 * any value.
 */
export interface AskedCall {
  readonly place: number;
  readonly tool: string;
  readonly action?: string;
  readonly arguments: JsonObject;
  /** The size of arguments that the engine left out, because they are too large or contain too many values. */
  readonly cutBytes?: number;
  readonly line?: number;
  readonly kind?: "call" | "help" | "materialize" | "artifact" | "progress";
}

export interface Printed {
  readonly stream: "out" | "error";
  readonly text: string;
}

/** The answer to one question. */
export interface SettledCall {
  readonly place: number;
  readonly status: "ok" | "error" | "denied";
  readonly code?: string;
  readonly message?: string;
  readonly advice?: string;
  /** The result handle's plain form: {text, structured, ref, files, status}. */
  readonly value: Json;
}

/** One script, running or waiting for its calls. */
export interface SandboxSession extends AsyncDisposable {
  /** Processor time of the script in this session, where it is measured. */
  readonly usedCpuMs?: number;
  /**
   * Goes on with the settled results. Timers that are due then run after them.
   *
   * @param passedMs how long the script's timers ran since the last step: its clock moves on by that. Default 0.
   */
  next(passedMs?: number): Promise<ScriptStep>;
  settle(results: readonly SettledCall[]): Promise<void> | void;
  /** Only while waiting in a `calls` step. */
  freeze(): Promise<Uint8Array>;
  kill(): void;
}

/**
 * Code that calls tools: what a sandbox engine can do, whichever language it speaks.
 *
 * Invariant: pull-based. The engine holds no host function: it yields calls, is settled, and can be frozen in between; so
 * whatever a script does, it can only ask, and what it asks passes every gate.
 * Next: drive.ts (the loop), chain-tool.ts (`tool_chain`), quickjs/ and cpython/, child/ (the
 * killable process each engine lives in).
 */
import type { Json, JsonObject } from "../core/json.ts";

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
  /** Engine build: stamped on images. */
  readonly engine: string;
  /** Why it cannot run here (no bubblewrap, no deno…): it is refused, never degraded. Undefined: it can. */
  unavailable(): Promise<string | undefined>;
  /**
   * What of the program this engine cannot do, found before it runs. Undefined: go. `unsupported` moves the chain to the next
   * engine. Once `signal` is aborted nobody waits for it, and it should let go of what it holds.
   */
  check?(
    program: ScriptProgram,
    signal?: AbortSignal,
  ): Promise<{ readonly unsupported: string } | { readonly invalid: string } | undefined>;
  /** Gets ready for a script that may come. */
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
  /** Wall clock, milliseconds, when it was first sent: where the clock of an engine that replays begins each time. */
  readonly startedAt?: number;
  /** Whose script it is: what it leaves behind, another owner's never meets. Undefined: nobody's does. */
  readonly owner?: string;
}

/** What the prelude offers: `server` groups (`tools.server.tool`), plain name too when unambiguous and no action. */
export interface ToolSketch {
  readonly name: string;
  readonly server: string | undefined;
  readonly short: string;
  /** `short` is one of several actions of the tool `server`, and says nothing without it. */
  readonly isAction?: true;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface SandboxLimits {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly wallMs: number;
  /** Of one call's arguments, as JSON; 4 MiB where nothing is said. */
  readonly argumentBytes?: number;
  /** Values and names in one call's arguments, and in the answer; 100,000 where nothing is said. */
  readonly argumentValues?: number;
  /** Once it is aborted nobody waits for the session any more; one that comes all the same is closed. */
  readonly signal?: AbortSignal;
}

/** Asked and not settled calls may be settled one by one: `calls` is empty while a script only waits for the rest. */
export type ScriptStep =
  | { readonly step: "calls"; readonly calls: readonly AskedCall[]; readonly printed?: readonly Printed[] }
  | {
      readonly step: "done";
      readonly value: Json | undefined;
      /** The value had so many bytes and is not there: they were more than it may have, or it held more values. */
      readonly cutBytes?: number;
      readonly printed?: readonly Printed[];
    }
  | {
      readonly step: "failed";
      readonly why: "script" | "cpu" | "memory" | "output" | "deadlock" | "crash" | "protocol" | "wall" | "unsupported";
      readonly message: string;
      readonly line?: number;
      readonly printed?: readonly Printed[];
    };

/**
 * `place` counts what a script asks for, in its order: it is answered by it. Keys are made of the number of calls (journal.ts),
 * in which the other kinds do not count. `line`: of the source.
 *
 * Kinds other than `call` are answered by whoever drives the script, never by a tool. Their `tool` is the kind's name, and:
 * `help` asks `{tool?}` and gets `{text}`; `materialize` asks `{ref}` or `{text}` and gets `{path, media_type, bytes, text}` or
 * `{…, base64}`; `artifact` brings `{type?, text}`, `{…, base64}` or, of what was brought before with `piece: true`,
 * `{…, pieces: [ref, …]}`, and gets `{ref, media_type, bytes}`; `progress` brings `{message, fraction?}` and gets anything.
 */
export interface AskedCall {
  readonly place: number;
  readonly tool: string;
  readonly action?: string;
  readonly arguments: JsonObject;
  /** The arguments had so many bytes and are not there: they were more than they may have, or held more values. */
  readonly cutBytes?: number;
  readonly line?: number;
  readonly kind?: "call" | "help" | "materialize" | "artifact" | "progress";
}

export interface Printed {
  readonly stream: "out" | "error";
  readonly text: string;
}

/** What a script gets back for a place. */
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
  next(): Promise<ScriptStep>;
  settle(results: readonly SettledCall[]): Promise<void> | void;
  /** Only while waiting in a `calls` step. */
  freeze(): Promise<Uint8Array>;
  kill(): void;
}

/** Scripts that call tools, as the public API describes them. The code is in code-mode/. */
import type { Principal } from "./call.ts";

/**
 * A script for `runtime.runChain`: the arguments of `tool_chain`.
 *
 * @public
 */
export interface ChainScript {
  readonly code: string;
  /** Guessed if left out. */
  readonly language?: "javascript" | "typescript" | "python";
  /** Seconds. Time that the script waits for a person does not count. */
  readonly timeout?: number;
}

/**
 * A script that runs now, waits for a person, or was interrupted and can continue.
 *
 * @public
 */
export interface ChainSummary {
  /** Id of its first arrival: what `resume` and `before` take. */
  readonly callId: string;
  readonly state: "running" | "waiting" | "interrupted";
  /** What to do so that it continues; undefined while it runs. */
  readonly advice?: string;
  readonly principal: Principal;
  readonly runId: string;
  readonly language: string | undefined;
  readonly source: string;
  /** The engine that froze it last, and the size of its image. Undefined while it runs or without an image. */
  readonly engine?: string;
  readonly imageBytes?: number;
  /** Wall clock, milliseconds: when it started, froze, or was found interrupted. */
  readonly since: number;
  /** The calls it waits for, with their lines in the script. */
  readonly waiting: readonly {
    readonly tool: string;
    readonly approvalId: string;
    readonly line?: number;
  }[];
  /** The line of each call it has made; for a frozen script, of each call that had ended. */
  readonly lines: readonly { readonly callId: string; readonly line: number }[];
  /** Wall clock, milliseconds: when the first of their requests expires. */
  readonly expiresAt?: number;
}

/**
 * An engine for scripts.
 *
 * @public
 */
export interface ChainEngine {
  readonly name: string;
  /** Undefined when the engine could not be loaded. */
  readonly language: "javascript" | "python" | undefined;
  /** Why it cannot run here, or why it did not start for the last script. Undefined when it runs. */
  readonly problem: string | undefined;
  /** It could run here, but did not start for a script. */
  readonly isDown?: true;
}

/** Scripts that call tools, as the public face speaks of them; what they are stands in chains/. */
import type { Principal } from "./call.ts";

/**
 * A script for `runtime.runChain`: the arguments of `tool_chain`.
 *
 * @public
 */
export interface ChainScript {
  readonly code: string;
  /** Guessed when left out. */
  readonly language?: "javascript" | "typescript" | "python";
  /** Seconds; waiting for a person does not count. */
  readonly timeout?: number;
}

/**
 * A script that runs now, waits for a person, or was cut short and can go on.
 *
 * @public
 */
export interface ChainSummary {
  /** Of its first arrival: what `resume` and `before` take. */
  readonly callId: string;
  readonly state: "running" | "waiting" | "interrupted";
  /** What to do that it goes on; none while it runs. */
  readonly advice?: string;
  readonly principal: Principal;
  readonly runId: string;
  readonly language: string | undefined;
  readonly source: string;
  /** Which engine froze it last, and how big what was put away is; none while it runs, or where nothing was put away. */
  readonly engine?: string;
  readonly imageBytes?: number;
  /** Wall clock, milliseconds: of its start, of the moment it froze, or of the one it was found cut short. */
  readonly since: number;
  /** The calls it waits for, with the lines that made them. */
  readonly waiting: readonly {
    readonly tool: string;
    readonly approvalId: string;
    readonly line?: number;
  }[];
  /** Which line made which call: of those it has made, or of those that had ended when it was last put away. */
  readonly lines: readonly { readonly callId: string; readonly line: number }[];
  /** Wall clock, milliseconds: when the first of their requests lapses. */
  readonly expiresAt?: number;
}

/**
 * An engine for scripts.
 *
 * @public
 */
export interface ChainEngine {
  readonly name: string;
  /** Undefined: it could not even be loaded. */
  readonly language: "javascript" | "python" | undefined;
  /** Why it cannot run here, or did not start for the last script that it was tried with. Undefined: it runs. */
  readonly problem: string | undefined;
  /** It may run here, and did not start when a script came. */
  readonly isDown?: true;
}

import type { Caller, Limits } from "../core/session.ts";
import type { ScriptProgram } from "../engines/sandbox.ts";
import type { ToolContext } from "../tools/tool.ts";
import type { ParentCall, ScriptHost } from "./chain-dependencies.ts";
import type { ScriptOffer } from "./offer.ts";

/** What is the same of a call of `tool_chain` in whichever engine. */
export interface ScriptFacts {
  readonly house: ScriptHost;
  readonly context: ToolContext;
  readonly caller: Caller;
  readonly parent: ParentCall;
  readonly limits: Limits;
  readonly program: ScriptProgram;
  readonly sourceDigest: string;
  readonly offer: ScriptOffer;
  /** Monotonic: what engines that passed took of its time is taken. */
  readonly begunAt: number;
  /** Of its time, before it was frozen. */
  readonly usedMs: number;
  /** It has been in an engine before: sent again, or thawed. */
  readonly wentBefore: boolean;
  /** Keys of calls that a person may be asked about still: once it is over, for nothing. */
  readonly requests: Set<string>;
}

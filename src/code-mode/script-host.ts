import type { Authority, ToolCall } from "../core/call.ts";
import type { JsonObject } from "../core/json.ts";
import type { Caller, Limits } from "../core/session.ts";
import type { ScriptProgram } from "../engines/sandbox.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import type { UsedArtifacts } from "../pipeline/result-bytes.ts";
import type { Offer, ToolContext } from "../tools/tool.ts";
import type { ChainTerms } from "./chain-options.ts";
import type { Engines } from "./engines.ts";
import type { FrozenScripts } from "./frozen.ts";
import type { LiveScripts } from "./live-scripts.ts";
import type { ScriptOffer } from "./offer.ts";
import type { TimerRecord } from "./script-timers.ts";

/** The call of `tool_chain` that a script's calls belong to: its first arrival, its key, and what its calls may do. */
export interface ParentCall {
  readonly id: string;
  readonly key: string;
  readonly authority: Authority;
}

/** Makes a child call with the parent's authority. Its key is made of the parent's key and the number. */
export type MakeChild = (
  parent: ParentCall,
  number: number,
  request: { readonly tool: string; readonly action: string; readonly arguments: JsonObject },
) => ToolCall;

/** The parts of the runtime that scripts need. */
export interface ScriptHost {
  readonly parts: Parts;
  readonly makeChild: MakeChild;
  readonly terms: ChainTerms;
  readonly engines: Engines;
  readonly frozen: FrozenScripts;
  readonly live: LiveScripts;
  readonly isShown: (action: Offer) => boolean;
  /** The tools that a script of this caller may call. */
  offer(authority: Pick<Authority, "principal" | "tools">): ScriptOffer;
}

/** The facts of one call of `tool_chain`, the same in every engine that runs its script. */
export interface ScriptFacts {
  readonly host: ScriptHost;
  readonly context: ToolContext;
  readonly caller: Caller;
  readonly parent: ParentCall;
  /** What the result of the script may hold beside its own words. */
  readonly used: UsedArtifacts;
  readonly limits: Limits;
  readonly program: ScriptProgram;
  readonly sourceDigest: string;
  readonly offer: ScriptOffer;
  /** Monotonic clock. The time in engines that could not run the script counts too. */
  readonly begunAt: number;
  /** The part of its time that it used before it was frozen. */
  readonly usedMs: number;
  /** Whether it was in an engine before: it was sent again, or thawed. */
  readonly hasRunBefore: boolean;
  readonly timers: TimerRecord;
  /** Keys of calls with a request that may still be open when the script is over. */
  readonly requests: Set<string>;
}

import type { Authority, Principal, ToolCall } from "../core/call.ts";
import type { JsonObject } from "../core/json.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import type { Offer } from "../tools/tool.ts";
import type { ChainTerms } from "./chain-options.ts";
import type { Engines } from "./engines.ts";
import type { FrozenScripts } from "./frozen.ts";
import type { LiveScripts } from "./live-scripts.ts";
import type { ScriptOffer } from "./offer.ts";

/** The row a script's calls hang on: its first arrival, its key, and what its calls may do. */
export interface ParentCall {
  readonly id: string;
  readonly key: string;
  readonly authority: Authority;
}

/** Makes a child call: the parent's authority, its number in the parent as key. Wired by the runtime. */
export type MakeChild = (
  parent: ParentCall,
  number: number,
  request: { readonly tool: string; readonly action: string; readonly arguments: JsonObject },
) => ToolCall;

/** All that a script needs of the runtime around it. */
export interface ScriptHost {
  readonly parts: Parts;
  readonly makeChild: MakeChild;
  readonly terms: ChainTerms;
  readonly engines: Engines;
  readonly frozen: FrozenScripts;
  readonly live: LiveScripts;
  readonly isShown: (action: Offer) => boolean;
  /** What a script of theirs may call. */
  offer(principal: Principal): ScriptOffer;
}

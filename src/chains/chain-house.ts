import type { Principal } from "../calls/call.ts";
import type { Parts } from "../parts.ts";
import type { Offer } from "../tools/tool.ts";
import type { ChainTerms } from "./chain-options.ts";
import type { Engines } from "./engines.ts";
import type { FrozenScripts } from "./frozen.ts";
import type { LiveScripts } from "./live-scripts.ts";
import type { MakeChild } from "./script-run.ts";

/** All that a script needs of the runtime around it. */
export interface ChainHouse {
  readonly parts: Parts;
  readonly makeChild: MakeChild;
  readonly terms: ChainTerms;
  readonly engines: Engines;
  readonly frozen: FrozenScripts;
  readonly live: LiveScripts;
  readonly isShown: (action: Offer) => boolean;
  offered(principal: Principal): readonly Offer[];
}

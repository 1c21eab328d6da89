import { type Ending, refuse } from "../calls/ending.ts";
import type { Controls } from "../policy/controls.ts";
import type { Tools } from "../tools/tool.ts";
import type { CountedCall, FoundCall } from "./stages.ts";

export interface LookupParts {
  readonly tools: Tools;
  readonly controls: Pick<Controls, "state">;
}

/** Which tool is meant, and may it be called now. What is paused, switched off or broken fails fast. */
export function lookup(call: CountedCall, parts: LookupParts): FoundCall | Ending {
  if (parts.controls.state.paused) return refuse("paused");
  const found = parts.tools.find(call.tool, call.action);
  if (found === undefined) return refuse("tool_unknown", unknown(call, parts.tools));
  if (call.authority.fromChain === true && found.notFromChain !== undefined)
    return refuse("tool_not_callable", found.notFromChain);
  const problem = parts.tools.unavailable(found);
  if (problem !== undefined) return refuse("tool_unavailable", problem);
  return Object.assign(call, { found }) as FoundCall;
}

function unknown(call: CountedCall, tools: Tools): string {
  if (tools.has(call.tool))
    return `Tool \`${call.tool}\` has no action \`${call.action}\`; list the tools to see what it offers.`;
  return `No tool is named \`${call.tool}\`; list the tools to see what there is.`;
}

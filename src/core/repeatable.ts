import type { ToolCall } from "./call.ts";

/** A script has no effect except through its calls. They are recorded under its key, so a script that is sent again continues from them. */
export function isOnRecord({ tool }: Pick<ToolCall, "tool">): boolean {
  return tool === "tool_chain";
}

/** Whether a second run does no harm: the tool only reads, or is idempotent. The risk does not matter. */
export function isRepeatable(
  call: Pick<ToolCall, "tool">,
  found: { readonly idempotent: boolean; readonly facts: { readonly effects: "read" | "write" | "destructive" } },
): boolean {
  return !isOnRecord(call) && (found.idempotent || found.facts.effects === "read");
}

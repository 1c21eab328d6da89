import type { ToolCall } from "./call.ts";

/** A script has no effect but its calls, and those are on record under its key: sent again, it goes on from there. */
export function isOnRecord({ tool }: Pick<ToolCall, "tool">): boolean {
  return tool === "tool_chain";
}

/**
 * Whether a second run does no harm: the tool only reads, or running it twice is like running it once.
 * Its risk says nothing about that.
 */
export function isRepeatable(
  call: Pick<ToolCall, "tool">,
  found: { readonly idempotent: boolean; readonly facts: { readonly effects: "read" | "write" | "destructive" } },
): boolean {
  return !isOnRecord(call) && (found.idempotent || found.facts.effects === "read");
}

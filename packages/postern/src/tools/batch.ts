import { defined } from "@postern/core";
import type { Tools } from "./tool.ts";

/** The action that a call means. */
interface NamedTool {
  readonly tool: string;
  readonly action?: string;
}

/** The tool's own setting. An unknown tool runs alone. */
export function isConcurrencySafe(tools: Pick<Tools, "find">): (call: NamedTool) => boolean {
  return ({ tool, action = "default" }) => tools.find(tool, action)?.concurrencySafe === true;
}

interface KeyedContext {
  readonly idempotencyKey?: string;
  readonly toolCallId?: string;
  readonly turn?: string;
}

/** The context of the batch with this call's own key, because one key for all would make them one call. */
export function withKey<Context extends object>(
  context: Context,
  { idempotencyKey, toolCallId }: KeyedContext,
): Omit<Context, keyof KeyedContext> & KeyedContext {
  const { idempotencyKey: _key, toolCallId: _id, turn, ...shared } = context as Context & KeyedContext; // the context may have them
  return {
    ...shared,
    ...defined({ idempotencyKey }),
    ...(toolCallId !== undefined && { toolCallId, ...defined({ turn }) }),
  };
}

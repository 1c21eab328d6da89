import type { ToolCall } from "@postern/core";
import type { PreviewContext } from "../tools/tool.ts";

/** The context of a hook that only reads (preview, reconcile): it announces no progress and no events. */
export function readOnlyContext(
  { id, authority }: Pick<ToolCall, "id" | "authority">,
  key: string,
  lazy: { readonly signal: AbortSignal },
): Omit<PreviewContext, "check"> {
  const { principal, scopes, tools, autonomy, runId, traceId, taskId, stepId } = authority;
  return {
    callId: id,
    get signal(): AbortSignal {
      return lazy.signal; // made on first use
    },
    idempotencyKey: key,
    runId,
    traceId,
    taskId,
    stepId,
    autonomy,
    principal: { ...principal }, // copies, so a tool cannot change the originals
    grantedScopes: [...scopes],
    tools: tools && [...tools],
    progress() {},
    emit() {},
  };
}

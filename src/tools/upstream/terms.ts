import type { Risk } from "../../calls/call.ts";
import type { ServerConfig } from "./server-config.ts";
import type { UpstreamTool } from "./upstream.ts";

/** Under which terms a stranger's tool is registered. */
export interface Terms {
  readonly risk: Risk;
  readonly riskSource: "operator" | "declared" | "default";
  readonly effects: "read" | "write" | "destructive";
  readonly idempotent: boolean;
  readonly scopes: readonly string[];
  readonly timeoutMs: number | undefined;
}

/**
 * Operator, then the hints of a trusted server, then `high` and not idempotent (D22). A hint a trusted server leaves
 * out is taken at its worst, as the protocol says: it writes, and what it writes destroys.
 */
export function termsOf(tool: UpstreamTool, config: ServerConfig): Terms {
  const own =
    config.tools !== undefined && Object.hasOwn(config.tools, tool.name) ? config.tools[tool.name] : undefined;
  const hinted = config.trust === "annotations" ? hintsOf(tool) : undefined;
  const stated = own?.risk ?? config.risk;
  return {
    risk: stated ?? hinted?.risk ?? "high",
    riskSource: stated !== undefined ? "operator" : hinted !== undefined ? "declared" : "default",
    effects: own?.effects ?? hinted?.effects ?? "write",
    idempotent: own?.idempotent ?? hinted?.idempotent ?? false,
    scopes: own?.scopes ?? [],
    timeoutMs: own?.timeoutMs ?? config.callTimeoutMs,
  };
}

function hintsOf(tool: UpstreamTool): Pick<Terms, "risk" | "effects" | "idempotent"> {
  const { readOnlyHint = false, destructiveHint, idempotentHint = false } = tool.annotations ?? {};
  // Read-only and destructive at once contradict each other: the worse one is believed.
  if (destructiveHint ?? !readOnlyHint) return { risk: "critical", effects: "destructive", idempotent: idempotentHint };
  return readOnlyHint
    ? { risk: "safe", effects: "read", idempotent: true }
    : { risk: "high", effects: "write", idempotent: idempotentHint };
}

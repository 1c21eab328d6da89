import type { ToolCall } from "../core/call.ts";
import type { CallStatus } from "../core/outcome.ts";
import type { Watcher } from "../core/watcher.ts";

/** Of `TOOL_START`. Never arguments: those may hold what a hook's author should not see. */
export interface ToolStart {
  readonly toolName: string;
  readonly action: string;
  readonly callId: string;
  readonly runId: string;
  readonly traceId: string;
}

/** Of `TOOL_END`: `durationMs` is the whole path's, waits included. */
export interface ToolEnd extends ToolStart {
  readonly status: CallStatus;
  readonly durationMs: number;
}

/** SPEC 14.1. Called beside the call, never waited for; one that throws or rejects is logged (D14). */
export interface Hooks {
  readonly toolStart?: (info: ToolStart) => void | Promise<void>;
  readonly toolEnd?: (info: ToolEnd) => void | Promise<void>;
}

/** One `toolStart` an arrival and one `toolEnd`, also when it was refused. */
export function hooksWatcher(hooks: Hooks): Watcher {
  return (event) => {
    if (event.moment === "arrived") return hooks.toolStart?.(startOf(event.call));
    if (event.moment === "left") {
      const { call, outcome, durationMs } = event;
      return hooks.toolEnd?.({ ...startOf(call), status: outcome.status, durationMs });
    }
    return undefined;
  };
}

function startOf({ tool, action, id, authority }: ToolCall): ToolStart {
  const { runId, traceId } = authority;
  return { toolName: tool, action, callId: id, runId, traceId };
}

import type { CallStatus, ToolCall, Watcher } from "@postern/core";

/** For `TOOL_START`. It has no arguments, because a hook's author may not be allowed to see them. */
export interface ToolStart {
  readonly toolName: string;
  readonly action: string;
  readonly callId: string;
  readonly runId: string;
  readonly traceId: string;
}

/** For `TOOL_END`: `durationMs` is the time of the whole path, waits included. */
export interface ToolEnd extends ToolStart {
  readonly status: CallStatus;
  readonly durationMs: number;
}

/** Calls do not wait for hooks. What a hook throws is logged. */
export interface Hooks {
  readonly toolStart?: (info: ToolStart) => void | Promise<void>;
  readonly toolEnd?: (info: ToolEnd) => void | Promise<void>;
}

/** Each arrival has one `toolStart` and one `toolEnd`, also if it was refused. */
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

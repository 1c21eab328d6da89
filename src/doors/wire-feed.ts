import type { JsonObject } from "../calls/json.ts";
import type { FeedEvent } from "../watchers/feed-event.ts";

/** One event of `GET /v1/events`. */
export interface FeedEventWire {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly run_id?: string | undefined;
  readonly call_id?: string | undefined;
  readonly approval_id?: string | undefined;
  readonly trace_id: string;
  readonly agent: string;
  readonly tool?: string | undefined;
  readonly summary: string;
  readonly data: JsonObject;
}

export function feedEventToWire(event: FeedEvent): FeedEventWire {
  return {
    id: event.id,
    type: event.type,
    at: event.at,
    run_id: event.runId,
    call_id: event.callId,
    approval_id: event.approvalId,
    trace_id: event.traceId,
    agent: event.agent,
    tool: event.tool,
    summary: event.summary,
    data: event.data,
  };
}

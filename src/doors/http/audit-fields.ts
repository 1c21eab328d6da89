import { z } from "@hono/zod-openapi";
import { type Given, given } from "../../calls/given.ts";
import type { Runtime } from "../../face.ts";
import { limit, name, time, traceId } from "./fields.ts";

/** What events are looked for by, from either end of the log. */
export interface EventFields {
  readonly trace_id?: string | undefined;
  readonly type?: string | undefined;
  readonly tool?: string | undefined;
  readonly outcome?: string | undefined;
  readonly by?: string | undefined;
  readonly call_id?: string | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit?: number | undefined;
}

export const eventFields: { readonly [Name in keyof EventFields]-?: z.ZodType<EventFields[Name]> } = {
  trace_id: traceId.optional(),
  type: z.string().min(1).max(1_000).optional().describe("Types apart by commas; one that ends in `.` is a prefix."),
  tool: name.optional(),
  outcome: z.enum(["success", "failure", "suppressed", "info"]).optional(),
  by: name.optional().describe("Who decided it, voted or did it by hand."),
  call_id: name.optional(),
  since: time.optional(),
  until: time.optional(),
  limit: limit.optional(),
};

type EventFilter = Given<
  Omit<EventFields, "trace_id" | "call_id" | "type"> & {
    readonly type?: readonly string[] | undefined;
    readonly traceId?: string | undefined;
    readonly callId?: readonly string[] | undefined;
  }
>;

/** A recorded call has a key, and arrivals: whichever of them is named, the events of all are meant. */
export async function eventFilter(
  { calls }: Pick<Runtime, "calls">,
  { trace_id: traceId, call_id: named, type: types, ...same }: EventFields,
): Promise<EventFilter> {
  const record = named === undefined ? undefined : await calls.get(named);
  const names = named === undefined ? undefined : [...new Set([named, record?.key ?? named, record?.call.id ?? named])];
  const type = types?.split(",").filter((one) => one !== "");
  return given({ ...same, type, traceId, callId: names });
}

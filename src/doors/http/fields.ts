import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import type { Autonomy } from "../../calls/call.ts";
import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import type { CallState } from "../../calls/records.ts";
import type { autonomies } from "../../calls/risk.ts";
import { callStates } from "../../calls/states.ts";
import type { ContextWire } from "../wire.ts";

/** The fields of requests, each written once. Strict objects throughout: an unknown field is refused by its name. */

const controlCharacter = /\p{Cc}/u;

/** A name as people and programs give it: not empty, bounded, and nothing in it that a terminal or a log would obey. */
export const name: ZodType<string> = z
  .string()
  .min(1, "must not be empty")
  .max(256, "is longer than 256 characters")
  .refine((text) => !controlCharacter.test(text), "holds a control character");

/** Free words of a person, kept as they are. */
export const reason: ZodType<string> = z.string().max(2000, "is longer than 2000 characters");

/** Any JSON object, untouched: it was read strictly, and the tool's own schema judges it. */
export const jsonObject: ZodType<JsonObject> = z
  .custom<JsonObject>(isJsonObject, "must be a JSON object")
  .openapi({ type: "object", additionalProperties: true });

export const autonomy: ZodType<Autonomy> = z.enum(
  ["A0", "A1", "A2", "A3", "A4"] satisfies typeof autonomies,
  "must be A0, A1, A2, A3 or A4",
);

export const runId: ZodType<string> = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ -");
export const traceId: ZodType<string> = z.string().regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hex digits");

export interface CallFields extends ContextWire {
  readonly tool: string;
  readonly action?: string | undefined;
  readonly arguments?: JsonObject | undefined;
}

export const callFields: ZodType<CallFields> = z.strictObject({
  tool: name,
  action: name.optional(),
  arguments: jsonObject.optional(),
  run_id: runId.optional(),
  task_id: name.optional(),
  step_id: name.optional(),
  trace_id: traceId.optional(),
  scopes: z.array(name).max(256).optional(),
  autonomy: autonomy.optional(),
  idempotency_key: name.optional(),
  tool_call_id: name.optional(),
  patience: z.enum(["deny", "wait", "suspend"]).optional(),
  approval_wait_ms: z.number().int().min(0).max(86_400_000).optional(),
  reason: reason.optional(),
});

/** In a query everything is text. */
function whole(min: number, max: number): ZodType<number> {
  return z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .openapi({ type: "integer", minimum: min, maximum: max });
}

export const limit: ZodType<number> = whole(1, 1000);
export const callId: ZodType<string> = z.string().regex(/^call_[0-9a-f-]{36}$/, "must be the id of a call (call_…)");

export const callState: ZodType<CallState> = z.enum(callStates);

export interface ReasonFields {
  readonly reason?: string | undefined;
}
export const reasonFields: ZodType<ReasonFields> = z.strictObject({ reason: reason.optional() });

import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import type { Autonomy } from "../../calls/call.ts";
import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import type { autonomies } from "../../calls/risk.ts";

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
/** A page's `next_after`, of a list that moves while somebody turns the page: how its last row stood, when, and which it was. */
export function cursor(...stood: readonly string[]): ZodType<string> {
  return z
    .string()
    .regex(
      new RegExp(`^(?:${stood.join("|")})@\\d{1,16}(?:\\.\\d{1,16})?@[\\w~.-]{1,256}$`),
      "is no `next_after` of a page of this list",
    );
}
export const position: ZodType<number> = whole(0, Number.MAX_SAFE_INTEGER);

export const callId: ZodType<string> = z.string().regex(/^call_[0-9a-f-]{36}$/, "must be the id of a call (call_…)");

/** ISO 8601 with its offset, or milliseconds since 1970. */
export const time: ZodType<number> = z
  .union([
    z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .openapi({ type: "string", format: "date-time" });

export interface ReasonFields {
  readonly reason?: string | undefined;
}

/** Fields that many routes share. Requests are strict objects: an unknown field is refused by its name. */
import { z } from "zod";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { autonomies, risks, verdicts } from "../risk.ts";

/** An object that the OpenAPI document lists by this name. */
export function component<Fields extends z.core.$ZodLooseShape>(
  name: string,
  fields: Fields,
): z.ZodObject<Fields, z.core.$strip> {
  return z.object(fields).meta({ id: name });
}

/** The fields of an address. Each may be left out. */
export function search<Fields extends z.core.$ZodLooseShape>(
  fields: Fields,
): z.ZodObject<OptionalFields<Fields>, z.core.$strict> {
  return z.strictObject(optional(fields));
}

/** The same fields, each of which may be left out. */
export function optional<Fields extends z.core.$ZodLooseShape>(fields: Fields): OptionalFields<Fields> {
  return z.object(fields).partial().shape as OptionalFields<Fields>; // the type repeats what it does
}

/** One value under each of the names: fields of one type, codes of one status. */
export function each<Type, const Name extends string>(type: Type, ...names: readonly Name[]): Record<Name, Type> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Type>; // the type repeats what it does
}

type OptionalFields<Fields extends z.core.$ZodLooseShape> = { [Name in keyof Fields]: z.ZodOptional<Fields[Name]> };

const controlCharacter = /\p{Cc}/u;

/** A name: not empty, bounded, and without control characters, which a terminal or a log would interpret. */
export const name = z
  .string()
  .min(1, "must not be empty")
  .max(256, "is longer than 256 characters")
  .refine((text) => !controlCharacter.test(text), "holds a control character");

/** What a person writes, kept as it is. */
export const reason = z.string().max(2000, "is longer than 2000 characters");
export const reasonFields = z.strictObject({ reason: reason.optional().describe("Recorded with it.") });

/** Any JSON object, untouched: it was read strictly, and the tool's own schema judges it. `.describe` would take its OpenAPI type. */
export const jsonObject = z
  .custom<JsonObject>(isJsonObject, "must be a JSON object")
  .meta({ type: "object", additionalProperties: true });
/** An object of texts. Its names stay as they are. */
export const textObject = z
  .custom<Readonly<Record<string, string>>>(
    (value) => isJsonObject(value) && Object.values(value).every((text) => typeof text === "string"),
    "must be an object whose values are texts",
  )
  .meta({
    type: "object",
    additionalProperties: { type: "string" },
    description:
      "Arguments as a person typed them. Each stays text if that fits the tool's schema; else it is read as JSON, if that fits.",
  });
/** Any JSON value. */
export const json = z
  .custom<Json>((value) => value !== undefined, "is missing")
  .meta({ type: ["object", "array", "string", "number", "boolean", "null"], description: "Any JSON." });

/** A filter by the types of events. */
export const eventTypes = z
  .string()
  .min(1)
  .max(1_000)
  .describe("Types, separated by commas. A type that ends in `.` is a prefix.");

export const risk = z.enum(risks).meta({ id: "Risk" });
export const autonomy = z.enum(autonomies, "must be A0, A1, A2, A3 or A4").meta({ id: "Autonomy" });
export const runId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 of A-Z a-z 0-9 _ -");
export const traceId = z.string().regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hex digits");
export const callId = z.string().regex(/^call_[0-9a-f-]{36}$/, "must be the id of a call (call_…)");
export const digest = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");

/** How many rows a page has at most. */
export const limit = z.int("must be a whole number").min(1).max(1000);
/** A position in a list or a log. */
export const position = z.int("must be a whole number").min(0);
/** The `next_after` of a list that changes while it is read: state, time and id of the last row. */
export function cursor(...states: readonly string[]): z.ZodString {
  const pattern = `^(?:${states.join("|")})@\\d{1,16}(?:\\.\\d{1,16})?@[\\w~.-]{1,256}$`;
  return z.string().regex(new RegExp(pattern), "is no `next_after` of a page of this list");
}

/** In a request: ISO 8601 with its offset, or milliseconds since 1970. Read as milliseconds. */
export const time = z
  .union([
    z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
    z
      .string()
      .regex(/^\d{1,15}$/)
      .transform(Number),
  ])
  .meta({ type: "string", format: "date-time" });

export const text = z.string();
export const texts = z.array(text);
export const whole = z.int();
export const flag = z.boolean();
/** In an answer: given as milliseconds of the wall clock or as text, sent as ISO 8601 in UTC. */
export const when = z
  .union([z.number(), z.string()])
  .transform((at) => (typeof at === "number" ? iso(at) : at))
  .meta({ type: "string", format: "date-time" });

/** Wall clock milliseconds as ISO 8601, UTC. A time beyond what a Date can say becomes the last one it can. */
export function iso(ms: number): string {
  return new Date(Math.min(Math.max(ms, -8.64e15), 8.64e15)).toISOString();
}

export const principal = component("Principal", {
  tenant: text,
  agent: text,
  ...optional({ user: text, groups: texts, via: text }),
});
/** Who did something, and when. */
export const author = { by: text, via: text.describe("The credential that the person used."), at: when };
export const oneAction = { tool: text, action: text };
/** The call that a request describes. */
export const requestedCall = {
  tool: name,
  ...optional({
    action: name,
    arguments: jsonObject,
    text_arguments: textObject,
    scopes: z.array(name).max(256),
    autonomy,
    run_id: runId,
  }),
};

export const effects = z.enum(["read", "write", "destructive"]);
export const riskSource = z.enum(["declared", "operator", "default", "guess"]);
export const recordedReason = { rule: text, effect: text, where: text.optional() };
/** A rule that shaped a decision, and what it says. */
export const decisionReason = component("Reason", {
  ...recordedReason,
  effect: z.enum([...verdicts, "DENY", "RAISE"]),
});

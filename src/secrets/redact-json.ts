import type { Json } from "../core/json.ts";
import type { Redactor } from "./secret-store.ts";

/**
 * A value without what the redactor knows, found across its parts too. Where the mask would break the JSON (it stood in for
 * a quote or half of an escape) it is masked part by part; the same value when nothing was found.
 */
export function redactJson<Value>(value: Value, redactor: Pick<Redactor, "redact">): Value {
  const text = JSON.stringify(value) ?? "null";
  const clean = redactor.redact(text);
  if (clean === text) return value;
  try {
    return JSON.parse(clean) as Value; // only texts in it are others
  } catch {
    return inParts(JSON.parse(text) as Json, redactor) as Value; // the same shape, with other texts
  }
}

function inParts(value: Json, redactor: Pick<Redactor, "redact">): Json {
  if (typeof value === "string") return redactor.redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((inner: Json) => inParts(inner, redactor));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redactor.redact(name), inParts(inner, redactor)]),
  );
}

import type { Json } from "@postern/core";
import type { Redactor } from "./secret-store.ts";

/**
 * Redacts a value, also secrets that lie across its parts. Where the mask would break the JSON (it replaced a quote or
 * half of an escape), each part is masked alone. Returns the same value when nothing was found.
 */
export function redactJson<Value>(value: Value, redactor: Pick<Redactor, "redact">): Value {
  const text = JSON.stringify(value) ?? "null";
  const clean = redactor.redact(text);
  if (clean === text) return value;
  try {
    return JSON.parse(clean) as Value; // only texts in it have changed
  } catch {
    return inParts(JSON.parse(text) as Json, redactor) as Value; // the same shape with changed texts
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

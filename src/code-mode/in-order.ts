import type { Json } from "../core/json.ts";
import type { CallPace } from "./pace.ts";

/**
 * Sorts the names of objects as they are digested, and gives other work turns in between: a hundred thousand names take longer
 * than one turn may. Numbers for names stay where they are, and an object with `__proto__`, which is refused, as it is.
 */
export async function inOrder(value: Json, pace: Pick<CallPace, "next">): Promise<Json> {
  if (typeof value !== "object" || value === null) return value;
  const others = pace.next();
  if (others !== undefined) await others;
  if (Array.isArray(value)) {
    const list: Json[] = [];
    for (const inner of value as readonly Json[]) list.push(holdsAny(inner) ? await inOrder(inner, pace) : inner);
    return list;
  }
  const names = Object.keys(value).sort();
  if (names.includes("__proto__")) return value;
  const object: Record<string, Json> = {};
  for (const name of names) {
    const inner = (value as Readonly<Record<string, Json>>)[name] ?? null; // neither null nor a list
    object[name] = holdsAny(inner) ? await inOrder(inner, pace) : inner;
  }
  return object;
}

function holdsAny(value: Json): boolean {
  if (typeof value !== "object" || value === null) return false;
  for (const _name in value) return true;
  return false;
}

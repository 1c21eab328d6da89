import { isJsonObject, type Json } from "@postern/core";

/**
 * Leaves out members that are null: of the value, and of what is up to `depth` levels inside it. Returns the value itself
 * when nothing is left out. Many libraries write null for an optional member.
 */
export function withoutNulls<Value extends Json>(value: Value, depth?: number): Value;
export function withoutNulls(value: Json, depth = 0): Json {
  if (depth < 0) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: Json) => withoutNulls(item, depth - 1));
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  if (!isJsonObject(value)) return value;
  let isSame = true;
  const members = Object.entries(value).flatMap(([name, member]): [string, Json][] => {
    const read = withoutNulls(member, depth - 1);
    isSame &&= read === member && member !== null;
    return read === null ? [] : [[name, read]];
  });
  return isSame ? value : Object.fromEntries(members);
}

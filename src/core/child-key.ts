import type { ToolCall } from "./call.ts";

/** What a call's own call has for a key of its own: the number it has among those that its parent made. */
export function childKey(parentKey: string, number: number): string {
  return `${parentKey}/${number}`;
}

/** Of a key that `childKey` made. */
export function parentKeyOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** Which one it was, of those that the parent of this key made. Undefined: none of them. */
export function childNumber(
  { idempotencyKey = "" }: Pick<ToolCall, "idempotencyKey">,
  parentKey: string,
): number | undefined {
  const number = Number(idempotencyKey.slice(parentKey.length + 1));
  return idempotencyKey === childKey(parentKey, number) ? number : undefined;
}

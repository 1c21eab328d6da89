import type { ToolCall } from "./call.ts";

/** The key of a child call: its parent's key and its number among the parent's calls. */
export function childKey(parentKey: string, number: number): string {
  return `${parentKey}/${number}`;
}

/** The parent's key, from a key that `childKey` made. */
export function parentKeyOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** The number of a child call among the calls of this parent. Returns undefined when it is not one of them. */
export function childNumber(
  { idempotencyKey = "" }: Pick<ToolCall, "idempotencyKey">,
  parentKey: string,
): number | undefined {
  const number = Number(idempotencyKey.slice(parentKey.length + 1));
  return idempotencyKey === childKey(parentKey, number) ? number : undefined;
}

import { hash } from "node:crypto";
import type { JsonObject } from "../../core/json.ts";
import { counted } from "../../core/shown.ts";
import { unifiedDiff } from "./diff.ts";
import { wholeText } from "./text.ts";

export interface ShownChange {
  readonly path: string;
  /** Undefined: the file is new. */
  readonly before: Buffer | undefined;
  readonly after: Buffer;
}

/**
 * What a change would do: a unified diff to read, and the digests of before and after, so that an approval is bound to
 * all of it, also to what the diff has no room for.
 */
export function previewOf(verb: string, { path, before, after }: ShownChange): JsonObject {
  const now = before === undefined ? "new" : counted(before.length, "byte");
  const [old, text] = [before === undefined ? "" : wholeText(before), wholeText(after)];
  return {
    summary: `${verb} ${path} (${now} → ${counted(after.length, "byte")})`,
    ...(old !== undefined && text !== undefined && { diff: `--- ${path}\n+++ ${path}\n${unifiedDiff(old, text)}` }),
    details: { path, before: before === undefined ? null : digestOf(before), after: digestOf(after) },
  };
}

function digestOf(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

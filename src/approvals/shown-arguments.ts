import type { Json, JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";

/** The arguments of a request with the content of the artifacts they name, as far as it was read. */
export function shownArguments({ arguments: given, artifacts = [] }: ApprovalRecord): JsonObject {
  if (artifacts.length === 0) return given;
  const texts = new Map(artifacts.map(({ digest, text }) => [digest, text]));
  return JSON.parse(JSON.stringify(given), (_name, value: Json | { readonly $artifact?: unknown }) => {
    const digest = typeof value === "object" && value !== null && "$artifact" in value ? value.$artifact : undefined;
    return typeof digest === "string" ? (texts.get(digest) ?? value) : value;
  }) as JsonObject; // an object stays one: only a reference is replaced, and the arguments are none
}

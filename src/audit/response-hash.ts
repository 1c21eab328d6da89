import { canonical, type Json, sha256 } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";

/**
 * SHA-256 of the text that was returned; when there is more than text, of the canonical JSON of
 * `{ content?, structured?, text }`, `content` only when a block is not text.
 */
export function responseHash(outcome: ToolOutcome): string {
  const { text, structured, content } = outcome;
  const onlyText = content.every(({ type }) => type === "text");
  if (onlyText) return sha256(structured === undefined ? text : spelled(structured, text));
  const whole = {
    content: content.map((block) => ({ ...block })),
    ...(structured !== undefined && { structured }),
    text,
  };
  try {
    return sha256(canonical(whole));
  } catch {
    return sha256(JSON.stringify(whole)); // half surrogates or too deep for RFC 8785: still one text for one result
  }
}

/** The canonical JSON of `{ structured, text }`, without an object made for it. */
function spelled(structured: Json, text: string): string {
  try {
    if (text.isWellFormed())
      return ['{"structured":', canonical(structured), ',"text":', JSON.stringify(text), "}"].join("");
  } catch {
    // As above.
  }
  return JSON.stringify({ structured, text });
}

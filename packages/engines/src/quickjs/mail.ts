/** Reads the text that a script left for the host. It is untrusted. */
import { isJsonObject, type Json, type JsonObject } from "@postern/core";

/** Deeper than any accepted argument, and safe for recursive code. */
const maxDepth = 200;

export class TooDeep extends Error {}

/** Checks the depth before it parses. The host checks the rest. @throws TooDeep */
export function parsed(text: string): JsonObject {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') {
      for (at += 1; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at += 1;
    } else if (sign === "[" || sign === "{") {
      if (++depth > maxDepth) throw new TooDeep(`What the script passed on is nested deeper than ${maxDepth} levels.`);
    } else if (sign === "]" || sign === "}") depth--;
  }
  const mail: unknown = JSON.parse(text);
  if (!isJsonObject(mail)) throw new TypeError("The mailbox holds something else.");
  return mail;
}

export function listIn(mail: JsonObject, name: string): readonly Json[] {
  const list = mail[name];
  return Array.isArray(list) ? list : [];
}

/** Reads the text that a script left for the host. It is untrusted. */
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";

/** Deeper than any accepted argument, and safe for recursive code. */
const maxDepth = 200;

export class TooDeep extends Error {}

export function parsed(text: string): JsonObject {
  checkDepth(text);
  const mail: unknown = JSON.parse(text);
  if (!isJsonObject(mail)) throw new TypeError("The mailbox holds something else.");
  return mail;
}

/** Checks the depth before parsing. The host checks the rest. @throws TooDeep */
export function checkDepth(text: string): void {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const at = text.charCodeAt(i);
    if (at === 0x22) i = endOfText(text, i);
    else if (at === 0x5b || at === 0x7b) {
      if (++depth > maxDepth) throw new TooDeep(`What the script passed on is nested deeper than ${maxDepth} levels.`);
    } else if (at === 0x5d || at === 0x7d) depth--;
  }
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== 0x22) at += text.charCodeAt(at) === 0x5c ? 2 : 1;
  return at;
}

export function listIn(mail: JsonObject, name: string): readonly Json[] {
  const list = mail[name];
  return Array.isArray(list) ? list : [];
}

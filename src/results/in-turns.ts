import { createHash, hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Redactor } from "../secrets/secret-store.ts";

/** What is done between two turns of others: a few milliseconds of the slowest work here. */
const turnLength = 512 * 1024;

/** As `redact`, with turns for others. What no secret can run over is looked at by itself. */
export async function redactedInTurns(text: string, redactor: Redactor): Promise<string> {
  const { reach } = redactor;
  if (reach === undefined || text.length <= turnLength) return redactor.redact(text);
  const pieces: string[] = [];
  for (let from = 0; from < text.length; await setImmediate()) {
    const to = cutFrom(text, from, redactor, reach);
    pieces.push(redactor.redact(text.slice(from, to)));
    from = to;
  }
  const whole = pieces.join("");
  return whole === text ? text : whole;
}

/** Where nothing known stands on either side as far as it could reach. */
function cutFrom(text: string, from: number, redactor: Redactor, reach: number): number {
  let to = from + Math.max(turnLength, 2 * reach);
  while (to < text.length && redactor.finds(text.slice(to - reach, to + reach))) to += 2 * reach;
  return Math.min(to, text.length);
}

/** As `finds`, in bytes that may be text. */
export async function foundInTurns(bytes: Buffer, redactor: Redactor): Promise<boolean> {
  const { reach } = redactor;
  if (reach === undefined || bytes.length <= turnLength) return redactor.finds(bytes.toString());
  for (let from = 0; from < bytes.length; from += turnLength, await setImmediate())
    if (redactor.finds(bytes.toString("utf8", from, from + turnLength + bytesACharacter * reach))) return true;
  return false;
}

const bytesACharacter = 4;

/** As `JSON.stringify` of a well-formed text. */
export async function spelledInTurns(text: string): Promise<string> {
  if (text.length <= turnLength) return JSON.stringify(text);
  const pieces: string[] = [];
  for (let from = 0; from < text.length; await setImmediate()) {
    const end = from + turnLength;
    const isInPair = (text.charCodeAt(end) & 0xfc00) === 0xdc00;
    const to = isInPair ? end + 1 : end;
    pieces.push(JSON.stringify(text.slice(from, to)).slice(1, -1));
    from = to;
  }
  return `"${pieces.join("")}"`;
}

/** SHA-256, 64 hex digits. */
export async function digestInTurns(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= 2 * turnLength) return hash("sha256", bytes, "hex");
  const digest = createHash("sha256");
  for (let from = 0; from < bytes.length; from += 2 * turnLength, await setImmediate())
    digest.update(bytes.subarray(from, from + 2 * turnLength));
  return digest.digest("hex");
}

/** Whether it takes more than one turn. */
export function isLong(text: string | undefined): boolean {
  return text !== undefined && text.length > turnLength;
}

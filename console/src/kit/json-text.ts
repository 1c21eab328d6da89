/** Reads JSON strictly: a number that would change its value is a problem. */
import type { JsonObject } from "@postern/core";

export type Read<Value> = { readonly value: Value } | { readonly problem: string };

/** The value is undefined when the text is empty. */
export function readJson(text: string): Read<unknown> {
  if (text.trim() === "") return { value: undefined };
  try {
    const value: unknown = JSON.parse(text);
    const lost = text
      .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
      .match(numbers)
      ?.find(isLost);
    return lost === undefined ? { value } : { problem: problemOfNumber(lost) };
  } catch (error) {
    return { problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function readObject(text: string): Read<JsonObject> {
  const read = readJson(text);
  if ("problem" in read) return read;
  const { value } = read;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "The arguments are an object: { … }." };
  return { value: value as JsonObject }; // JSON.parse makes nothing but JSON
}

/** The value is undefined when the text is empty. */
export function readNumber(text: string, isWhole: boolean): Read<number | undefined> {
  const literal = text.trim();
  if (literal === "") return { value: undefined };
  if (literal.match(numbers)?.[0] !== literal) return { problem: "This is not a number." };
  if (isLost(literal)) return { problem: problemOfNumber(literal) };
  const value = Number(literal);
  return isWhole && !Number.isInteger(value) ? { problem: "This is not a whole number." } : { value };
}

const numbers = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Whether it would become another number: JSON keeps about 15 digits. */
function isLost(literal: string): boolean {
  const number = Number(literal);
  if (!Number.isFinite(number)) return true;
  const digits = literal
    .replace(/[eE].*$/, "")
    .replaceAll(/[-.]/g, "")
    .replace(/^0+/, "");
  return digits.length > 15 && String(number) !== literal;
}

function problemOfNumber(literal: string): string {
  return `${literal} cannot be sent as it is written: it would become ${Number(literal)}.`;
}

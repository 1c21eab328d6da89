/** Compares an argument with the value that a condition names, lists and objects included. */

import { canonical, isJsonObject, type Json, messageOf } from "@postern/core";
import { refuseLoss } from "../../call/loss.ts";
import { invalid } from "../problem.ts";

/** The longest value that a condition may name, in characters of its RFC 8785 text. */
export const longestValue = 10_000;

/**
 * Returns a copy, so the value cannot change later.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function checkedValue(value: unknown, at: string): Json {
  const text = textOf(value, at);
  if (text.length <= longestValue) return JSON.parse(text) as Json; // JSON.parse returns JSON
  throw invalid(
    `${at} is ${text.length} characters of JSON, and ${longestValue} are the most; compare parts of it, by paths of their own.`,
  );
}

function textOf(value: unknown, at: string): string {
  try {
    return canonical(value as Json, refuseLoss); // it throws for a value that is not JSON
  } catch (error) {
    throw invalid(`${at} is not a JSON value: ${messageOf(error)}`);
  }
}

/** Whether both have the same RFC 8785 text, without writing either text. */
export function isSame(wanted: Json, value: Json | undefined): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(value) && value.length === wanted.length && wanted.every((one, i) => isSame(one, value[i]));
  if (!isJsonObject(wanted)) return wanted === value;
  if (!isJsonObject(value)) return false;
  const fields = Object.entries(wanted);
  const given = Object.keys(value).filter((name) => value[name] !== undefined);
  return (
    given.length === fields.length &&
    fields.every(([name, one]) => Object.hasOwn(value, name) && isSame(one, value[name]))
  );
}

import {
  canonical,
  deepFrozen,
  isJsonObject,
  type Json,
  type JsonObject,
  messageOf,
  parseStrict,
  type ToolCall,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { refuseLoss } from "./loss.ts";

/** A new arrival of a call: plain and frozen, without what the gates added to the earlier arrival. */
export function arrivalOf(call: ToolCall): ToolCall {
  const { problem, resumes, resumesBy, batch } = call;
  return Object.freeze({ ...dataOf(call), problem, resumes, resumesBy, batch });
}

/** The same arrival at the first gate once more, because something changed before it was claimed. */
export function enteringAgain(call: ToolCall & { readonly key: string }): ToolCall {
  const { batch, key } = call;
  const others = batch && new Set([...batch].filter((one) => one !== key)); // it may find its own row again
  return arrivalOf({ ...call, batch: others });
}

/** The part of a call that is stored. */
export function dataOf(call: ToolCall): ToolCall {
  return {
    id: call.id,
    tool: call.tool,
    action: call.action,
    arguments: call.arguments,
    text: call.text,
    digest: call.digest,
    authority: call.authority,
    arrivedAt: call.arrivedAt,
    parentId: call.parentId,
    idempotencyKey: call.idempotencyKey,
    toolCallId: call.toolCallId,
    turn: call.turn,
    providerItem: call.providerItem,
    resumes: call.resumes,
  };
}

/** This call's own copy of the arguments: text, digest and value come from one reading, so later changes by the caller have no effect. */
export interface ArrivalReading {
  readonly arguments: JsonObject;
  readonly text: string;
  readonly digest: string;
  readonly problem: string | undefined;
}

const none: JsonObject = Object.freeze({});
const nothing = "{}";
const nothingDigest = sha256(nothing);

/** Never throws. Unreadable arguments become `{}` with a `problem`, and the arguments gate refuses them. */
export function readArguments(given: unknown): ArrivalReading {
  if (given === undefined) return { arguments: none, text: nothing, digest: nothingDigest, problem: undefined };
  try {
    if (!isJsonObject(given)) return unreadable(notAnObject(given));
    const text = canonical(given, refuseLoss);
    return { arguments: ownCopy(text), text, digest: sha256(text), problem: undefined };
  } catch (error) {
    return unreadable(`The arguments are not JSON: ${messageOf(error)}`);
  }
}

function ownCopy(text: string): JsonObject {
  return deepFrozen(JSON.parse(text) as JsonObject); // `canonical` wrote it from an object
}

function unreadable(problem: string): ArrivalReading {
  return { arguments: none, text: nothing, digest: nothingDigest, problem };
}

/** A text was probably written by a model, so the message names the mistake in its JSON. */
function notAnObject(given: unknown): string {
  const needed = `The arguments are ${kindOf(given)}; an object is needed.`;
  const parsed = typeof given === "string" ? parseStrict(given) : undefined;
  return parsed !== undefined && "problem" in parsed ? `${needed} ${parsed.problem}` : needed;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/** The untrusted name made safe for the log: well-formed and at most 128 characters. */
export function nameOf(given: unknown): string {
  const text: Json | string = typeof given === "string" ? given : `(${kindOf(given)})`;
  return text.length > 128 ? `${text.slice(0, 127).toWellFormed()}…` : text.toWellFormed();
}

import type { Authority, ToolCall } from "./call.ts";
import { messageOf } from "./fault.ts";
import { canonical, deepFrozen, isJsonObject, type Json, type JsonObject, sha256 } from "./json.ts";
import { refuseLoss } from "./loss.ts";
import { parseStrict } from "./strict-json.ts";

/**
 * A call in flight. It has every field from the start, also those the gates fill in, so that the engine sees one shape
 * all along the path; to readers it is a ToolCall, and gates/stages.ts says which fields are there at which stage.
 */
export class Arrival implements ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly action: string;
  readonly arguments: JsonObject;
  readonly text: string;
  readonly digest: string;
  readonly authority: Authority;
  readonly arrivedAt: number;
  readonly problem: string | undefined;
  readonly parentId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly toolCallId: string | undefined;
  readonly providerItem: JsonObject | undefined;
  readonly resumes: string | undefined;
  readonly resumesBy: string | undefined;
  readonly batch: Set<string> | undefined;
  /** Its id and digest were made here, and so need no look before they are spelled in an event. */
  readonly isOurs: boolean;
  /** How often it entered again because another call was claimed first. */
  readonly tries: number;
  found: unknown = undefined;
  input: unknown = undefined;
  references: unknown = undefined;
  resolved: unknown = undefined;
  findings: unknown = undefined;
  verdict: unknown = undefined;
  risk: unknown = undefined;
  weighing: unknown = undefined;
  suggestion: unknown = undefined;
  past: unknown = undefined;
  key: unknown = undefined;
  match: unknown = undefined;
  record: unknown = undefined;
  approvalId: unknown = undefined;
  claimed: unknown = undefined;
  claimedAt: unknown = undefined;

  constructor(call: ToolCall, isOurs = false, tries = 0) {
    this.isOurs = isOurs;
    this.tries = tries;
    this.id = call.id;
    this.tool = call.tool;
    this.action = call.action;
    this.arguments = call.arguments;
    this.text = call.text;
    this.digest = call.digest;
    this.authority = call.authority;
    this.arrivedAt = call.arrivedAt;
    this.problem = call.problem;
    this.parentId = call.parentId;
    this.idempotencyKey = call.idempotencyKey;
    this.toolCallId = call.toolCallId;
    this.providerItem = call.providerItem;
    this.resumes = call.resumes;
    this.resumesBy = call.resumesBy;
    this.batch = call.batch;
  }
}

/** The call alone: in flight it carries what the gates learned of it, the tool itself included, which is nobody else's. */
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
    providerItem: call.providerItem,
    resumes: call.resumes,
  };
}

/** The same arrival once more, as the call that `key` names: nobody counts it again. Undefined: it has tried often enough. */
export function anew(call: ToolCall, key: string): Arrival | undefined {
  const { isOurs = false, tries = 0 } = call instanceof Arrival ? call : {};
  return tries < mostTries ? new Arrival({ ...call, resumes: key }, isOurs, tries + 1) : undefined;
}

/** Each try fails because another call was claimed, so this is how many may pass by. */
const mostTries = 1000;

/** The arguments as this call owns them: text, digest and value are of one reading, whatever the giver does to his object later. */
export interface Reading {
  readonly arguments: JsonObject;
  readonly text: string;
  readonly digest: string;
  readonly problem: string | undefined;
}

const none: JsonObject = Object.freeze({});
const nothing = "{}";
const nothingDigest = sha256(nothing);

/** Never throws: what cannot be read becomes `{}` with the problem said, and the arguments gate refuses it. */
export function read(given: unknown): Reading {
  if (given === undefined) return { arguments: none, text: nothing, digest: nothingDigest, problem: undefined };
  try {
    if (!isJsonObject(given)) return unreadable(notAnObject(given));
    const text = canonical(given, refuseLoss);
    return { arguments: own(text), text, digest: sha256(text), problem: undefined };
  } catch (error) {
    return unreadable(`The arguments are not JSON: ${messageOf(error)}`);
  }
}

function own(text: string): JsonObject {
  return deepFrozen(JSON.parse(text) as JsonObject); // `canonical` wrote it from an object
}

function unreadable(problem: string): Reading {
  return { arguments: none, text: nothing, digest: nothingDigest, problem };
}

/** Text is what a model wrote: it is told what is wrong with the JSON. */
function notAnObject(given: unknown): string {
  const needed = `The arguments are ${kindOf(given)}; an object is needed.`;
  const parsed = typeof given === "string" ? parseStrict(given) : undefined;
  return parsed !== undefined && "problem" in parsed ? `${needed} ${parsed.problem}` : needed;
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/** A name as a stranger gave it, fit for the log: well-formed, no longer than any name can be. */
export function nameOf(given: unknown): string {
  const text: Json | string = typeof given === "string" ? given : `(${kindOf(given)})`;
  return text.length > 128 ? `${text.slice(0, 127).toWellFormed()}…` : text.toWellFormed();
}

/**
 * Reads arguments that were typed as text (`count=4`). A text stays text if that fits the tool's schema; else it is read as
 * JSON, if that fits. The schema decides by its own check, so nothing is guessed.
 *
 * Invariant: it ends before the first gate, so all gates, the record, the card and the log have the same arguments.
 */

import { type Clock, type Json, type JsonObject, parseStrict, type ToolCall } from "@postern/core";
import { readArguments } from "../../call/arrival.ts";
import { isEnding } from "../../call/ending.ts";
import type { Caller } from "../../call/session.ts";
import type { Issue } from "../../tools/tool.ts";
import { parsed } from "./arguments.ts";
import { uncountedCall } from "./budget.ts";
import { awaitServer, type LookupParts, lookup } from "./lookup.ts";

type TextNames = ReadonlySet<string>;
/** What does not fit if these arguments are read as JSON. Undefined if the schema cannot be used. */
type TextCheck = (asJson: TextNames) => Promise<readonly Issue[] | undefined>;

/** With more texts than this, a choice between forms of the whole object is not searched. */
const mostSearched = 16;

/**
 * Returns the call with its texts read. If its tool cannot be called or checked, the texts stay, and the gates say why.
 *
 * @param caller waits for the tool's server, as the lookup gate does
 */
export async function readTexts(
  call: ToolCall,
  parts: LookupParts & { readonly clock: Clock },
  caller?: Caller,
): Promise<ToolCall> {
  const json = jsonIn(call);
  if (json.size === 0) return call;
  const asked = uncountedCall(call);
  if (caller !== undefined) await awaitServer(asked, caller, parts);
  const found = lookup(asked, parts);
  if (isEnding(found)) return call;
  const check: TextCheck = async (asJson) => {
    const result = await parsed({ ...found, arguments: withJson(call.arguments, json, asJson) }, parts.clock);
    return "unusable" in result ? undefined : "issues" in result ? result.issues : [];
  };
  try {
    const chosen = await chosenIn(json, check);
    return Object.freeze({ ...call, ...readArguments(withJson(call.arguments, json, chosen)), texts: undefined });
  } catch {
    return call; // the schema's own code threw; the arguments gate meets and reports it
  }
}

function jsonIn({ arguments: given, texts = [] }: ToolCall): ReadonlyMap<string, Json> {
  const json = new Map<string, Json>();
  for (const name of texts) {
    const read = parseStrict(String(given[name]));
    if ("value" in read) json.set(name, read.value);
  }
  return json;
}

function withJson(given: JsonObject, json: ReadonlyMap<string, Json>, asJson: TextNames): JsonObject {
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [name, asJson.has(name) ? (json.get(name) ?? null) : text]),
  );
}

/** The texts to read as JSON: those that the schema refuses as text. */
async function chosenIn(json: ReadonlyMap<string, Json>, check: TextCheck): Promise<TextNames> {
  const chosen = new Set<string>();
  for (;;) {
    const issues = await check(chosen);
    if (issues === undefined || issues.length === 0) return chosen;
    const refused = issues.map(({ path }) => String(path[0])).filter((name) => json.has(name) && !chosen.has(name));
    for (const name of refused) chosen.add(name);
    if (refused.length > 0) continue;
    const found = issues.some(({ path }) => path.length === 0) ? await searched(json, check) : undefined;
    if (found !== undefined) return found;
    // As JSON it does not fit either. The refusal speaks of the text, or of the part inside the JSON that is wrong.
    for (const { path } of issues) if (path.length === 1) chosen.delete(String(path[0]));
    return chosen;
  }
}

/** A choice between forms of the whole object names no argument. Begins with all JSON, and keeps each text that fits. */
async function searched(json: ReadonlyMap<string, Json>, check: TextCheck): Promise<TextNames | undefined> {
  if (json.size > mostSearched) return undefined;
  let names: TextNames = new Set(json.keys());
  let fits = (await check(names))?.length === 0;
  for (const name of json.keys()) {
    const fewer = new Set([...names].filter((one) => one !== name));
    if ((await check(fewer))?.length !== 0) continue;
    names = fewer;
    fits = true;
  }
  return fits ? names : undefined;
}

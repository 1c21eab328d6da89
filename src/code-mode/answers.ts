/** The answer of a call for a script: a handle, or an exception with code and advice. Never pending, never a preview. */
import { messageOf } from "../core/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/json.ts";
import type { Cut, ToolOutcome } from "../core/outcome.ts";
import { nextStepOf, type RefusalCode, refusals } from "../core/refusals.ts";
import type { SettledCall } from "../engines/sandbox.ts";
import { isStandIn } from "../results/cut.ts";
import { renderOutcome } from "../results/render.ts";
import { nameList } from "./names.ts";
import type { ScriptRun } from "./script-run.ts";

export async function settledOf(place: number, outcome: ToolOutcome, run: ScriptRun): Promise<SettledCall> {
  const { status, refusal } = outcome;
  if (status === "ok") {
    const value = handleOf(outcome);
    return { place, status, value: isElsewhere(outcome) ? await withData(value, outcome, run) : value };
  }
  if (status === "preview" || refusal === undefined) return refused(place, "preview_only");
  const { code } = refusal;
  const { message = "", advice = "" } = renderOutcome(outcome, { tool: "", inScript: true });
  const known = code === "tool_unknown" ? run.facts.offer.sketches.map(({ name }) => name) : [];
  return {
    place,
    status: status === "denied" ? "denied" : "error",
    code,
    message: code === "tool_unknown" ? `${message} There are: ${nameList(known)}.` : message,
    advice,
    value: handleOf(outcome),
  };
}

export function refused(place: number, code: RefusalCode, message: string = refusals[code].message): SettledCall {
  const { status, retry } = refusals[code];
  return { place, status, code, message, advice: nextStepOf({ code, retry }), value: { status, text: message } };
}

/** An answer that Postern gives itself. */
export function answered({ place }: Pick<SettledCall, "place">, value: JsonObject): SettledCall {
  return { place, status: "ok", value: { status: "ok", ...value } };
}

export function tooMuchAtOnce(place: number): SettledCall {
  const message = "That is more than a script gets at once; ask for it after the other results.";
  return refused(place, "overloaded", message);
}

/** {text, structured, ref, files, notes, status}: the prelude makes its ToolResult of it. */
function handleOf({ status, text, structured, artifact, files, summary, notes }: ToolOutcome): JsonObject {
  const handle: Record<string, Json> = { status, text };
  if (structured !== undefined) handle["structured"] = structured;
  if (artifact !== undefined) handle["ref"] = artifact;
  if (summary !== undefined) handle["summary"] = summary;
  if (notes !== undefined) handle["notes"] = [...notes];
  if (files !== undefined)
    handle["files"] = files.map(({ path, mediaType, artifact: ref }) => ({ path, media_type: mediaType, ref }));
  return handle;
}

/** Larger data stays in the artifact, and the script gets a message when it reads it. */
const mostDataBytes = 1024 * 1024;

/** Whether data of the result is in the artifact: structured content, a text that is its only member, or a text that is JSON. */
function isElsewhere(outcome: ToolOutcome): boolean {
  const { artifact, cut, text, structured } = outcome;
  if (artifact === undefined || cut === undefined || cut.isBrief === true) return false;
  return isStandIn(outcome) || cut.member !== undefined || (structured === undefined && /^\s*[[{]/.test(text));
}

/**
 * Adds the data of a result that was kept as an artifact, or the reason why it is missing, so a script can read a list
 * of any size. Of a text without data, a script has the beginning and the reference.
 */
async function withData(handle: JsonObject, outcome: ToolOutcome, run: ScriptRun): Promise<JsonObject> {
  const { artifact = "" } = outcome;
  const { structured, ...value } = handle;
  const found = await dataOf(artifact, outcome, run);
  if ("unread" in found && structured === undefined) return handle;
  if (!("unread" in found)) run.journal.use(artifact); // the script has all of it
  return { ...(structured !== undefined && { summary: structured }), ...value, ...found };
}

async function dataOf(digest: string, { cut, structured }: ToolOutcome, run: ScriptRun): Promise<JsonObject> {
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  try {
    const { bytes: length } = await artifacts.meta(digest, principal);
    if (length > mostDataBytes || !run.journal.budget.bring(length))
      return { unread: `The data has ${length} bytes and a script reads ${mostDataBytes} at most. ${advice}` };
    const { bytes } = await artifacts.open(digest, principal);
    return dataIn(Buffer.from(bytes).toString(), cut, structured !== undefined);
  } catch (error) {
    return { unread: `The data could not be read: ${messageOf(error)}. ${advice}` };
  }
}

/** @param kept the artifact's text: the result's own, or `{ text?, structured?, content? }` */
function dataIn(kept: string, cut: Cut | undefined, isStructured: boolean): JsonObject {
  if (cut?.member !== undefined) return { text: kept, structured: { [cut.member]: kept } };
  if (!isStructured) return cut?.continuesAt === undefined ? {} : { text: kept };
  const body = JSON.parse(kept) as Json; // it was stored as JSON
  if (cut?.continuesAt !== undefined) return { text: kept, structured: body };
  return { structured: isJsonObject(body) ? (body["structured"] ?? null) : null };
}

const advice = "Hand the result itself on to another tool, or ask the tool for less.";

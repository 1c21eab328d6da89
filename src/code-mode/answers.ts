import type { Json, JsonObject } from "../core/json.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import { nextStepOf, type RefusalCode, refusals } from "../core/refusals.ts";
import type { SettledCall } from "../engines/sandbox.ts";
import { renderOutcome } from "../results/render.ts";
import { nameList } from "./name-list.ts";

type OfferedScriptTool = readonly { readonly name: string }[];

/** How a call looks from inside a script: a handle, or an exception with code and advice. Never pending, never a preview. */
export function settledOf(place: number, outcome: ToolOutcome, known?: OfferedScriptTool): SettledCall {
  const { status, refusal } = outcome;
  if (status === "ok") return { place, status, value: handleOf(outcome) };
  if (status === "preview" || refusal === undefined) return refused(place, "preview_only");
  const { code } = refusal;
  const { message = "", advice = "" } = renderOutcome(outcome, { tool: "", inScript: true });
  const names =
    code === "tool_unknown" && known !== undefined ? ` There are: ${nameList(known.map(({ name }) => name))}.` : "";
  return {
    place,
    status: status === "denied" ? "denied" : "error",
    code,
    message: `${message}${names}`,
    advice,
    value: handleOf(outcome),
  };
}

export function refused(place: number, code: RefusalCode, message: string = refusals[code].tell): SettledCall {
  const { status, retry } = refusals[code];
  return { place, status, code, message, advice: nextStepOf({ code, retry }), value: { status, text: message } };
}

/** What Postern itself answers. */
export function answered({ place }: Pick<SettledCall, "place">, value: JsonObject): SettledCall {
  return { place, status: "ok", value: { status: "ok", ...value } };
}

export function tooMuchAtOnce(place: number): SettledCall {
  return refused(
    place,
    "overloaded",
    "That is more than a script gets at once; ask for it after the others are there.",
  );
}

/** {text, structured, ref, files, status}: what the prelude makes its ToolResult of (SPEC 12.4). */
function handleOf({ status, text, structured, artifact, files, summary }: ToolOutcome): JsonObject {
  const handle: Record<string, Json> = { status, text };
  if (structured !== undefined) handle["structured"] = structured;
  if (artifact !== undefined) handle["ref"] = artifact;
  if (summary !== undefined) handle["summary"] = summary;
  if (files !== undefined)
    handle["files"] = files.map(({ path, mediaType, artifact: ref }) => ({ path, media_type: mediaType, ref }));
  return handle;
}

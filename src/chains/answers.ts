import type { Json, JsonObject } from "../calls/json.ts";
import type { ToolOutcome } from "../calls/outcome.ts";
import { type RefusalCode, refusals } from "../calls/refusals.ts";
import { nameList } from "./name-list.ts";
import type { Settled } from "./sandbox.ts";

type Offered = readonly { readonly name: string }[];

/** How a call looks from inside a script: a handle, or an exception with code and advice. Never pending, never a preview. */
export function settledOf(place: number, outcome: ToolOutcome, known?: Offered): Settled {
  const { status, refusal } = outcome;
  if (status === "ok") return { place, status, value: handleOf(outcome) };
  if (status === "preview") return refused(place, "preview_only", refusals.preview_only.tell);
  const code = refusal?.code ?? "tool_failed";
  const names =
    code === "tool_unknown" && known !== undefined ? ` There are: ${nameList(known.map(({ name }) => name))}.` : "";
  return {
    place,
    status: status === "denied" ? "denied" : "error",
    code,
    message: code === "approval_timed_out" ? unanswered : `${refusal?.message ?? outcome.text}${names}`,
    advice: code === "approval_timed_out" ? "Go on without it." : adviceOf(code),
    value: handleOf(outcome),
  };
}

/** A direct caller could send the same call again; a script's next one in its place is another call. */
const unanswered =
  "The request was not decided in time. It stays open as long as this script runs, and is withdrawn with its end.";

export function refused(place: number, code: RefusalCode, message: string): Settled {
  const { status, tell } = refusals[code];
  return { place, status, code, message, advice: tell, value: { status, text: message } };
}

/** What Postern itself answers. */
export function answered({ place }: Pick<Settled, "place">, value: JsonObject): Settled {
  return { place, status: "ok", value: { status: "ok", ...value } };
}

export function tooMuchAtOnce(place: number): Settled {
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

const advices: Readonly<Record<(typeof refusals)[RefusalCode]["retry"], string>> = {
  never: "Do not repeat it as it is.",
  later: "It may be tried again later.",
  changed: "Change the arguments and try again.",
  "same-key": "It may have happened: do not repeat it blindly.",
  "ask-again": "Asking again makes a new request.",
};

function adviceOf(code: RefusalCode): string {
  const { tell, retry } = refusals[code];
  return `${tell} ${advices[retry]}`;
}

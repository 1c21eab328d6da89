/** What a call does to what, in one sentence. The arguments decide what runs; the sentence names those that tell the target. */
import { actionText, type Json, shortened } from "@postern/core";
import type { ToolView } from "@postern/core/contract";
import { type ApprovalView, namesOf } from "../../api/approvals.ts";

const effectWords: Readonly<Record<ToolView["effects"], string>> = {
  read: "only reads",
  write: "changes or sends something",
  destructive: "may delete or overwrite something",
};

/** Arguments of these names tell the target better than any other, the first ones best. */
const targetNames =
  "to recipient recipients path file url host bucket database table channel repo repository branch account customer user subject title name id".split(
    " ",
  );
const mostTargets = 2;
const longestTarget = 60;

/** @param effects undefined until they are known, or if the tool is not offered any more */
export function callSentence({ what }: Pick<ApprovalView, "what">, effects: ToolView["effects"] | undefined): string {
  const does = effects === undefined ? "runs" : effectWords[effects];
  const target = targetsOf(what.arguments, mostTargets);
  return `${nameOf(what)} ${does}${target === "" ? "" : `: ${target}`}.`;
}

/** After the approval: `Approved: send_email to ada@example.org`. */
export function approvedText({ what, decision }: Pick<ApprovalView, "what" | "decision">): string {
  const as = decision?.as === "modified" ? "Approved as edited" : "Approved";
  return `${as}: ${nameOf(what)} ${targetsOf(what.arguments, 1)}`.trim();
}

function nameOf(what: ApprovalView["what"]): string {
  return actionText({ ...what, tool: namesOf(what.tool).name });
}

function targetsOf(given: ApprovalView["what"]["arguments"], most: number): string {
  const known = Object.entries(given).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === undefined ? [] : [[name, text] as const];
  });
  const placeOf = (name: string): number => targetNames.indexOf(name) >>> 0; // others come last, as they stand
  return known
    .sort(([one], [other]) => placeOf(one) - placeOf(other))
    .slice(0, most)
    .map(([name, text]) => `${name} ${text}`)
    .join(", ");
}

/** Undefined for what does not fit into a sentence. */
function textOf(value: Json): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map((one: Json) => textOf(one));
    return texts.length === 0 || texts.includes(undefined) ? undefined : shortened(texts.join(" and "), longestTarget);
  }
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return shortened(value.replaceAll(/\s+/g, " ").trim(), longestTarget);
}

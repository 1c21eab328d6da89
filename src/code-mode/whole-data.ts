/**
 * A result that was kept as an artifact comes into a script with its data: whether a list is iterated does not depend on its size.
 *
 * Texts that are no data stay outside: of them a script has the beginning, and the reference.
 */
import { messageOf } from "../core/fault.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import type { Cut, ToolOutcome } from "../core/outcome.ts";
import type { SettledCall } from "../engines/sandbox.ts";
import { isStandIn } from "../results/cut.ts";
import type { ScriptRun } from "./script-run.ts";

/** More stays outside, and the script is told so when it reads the data. */
const mostDataBytes = 1024 * 1024;

/** Whether data of the result is in the artifact: structured content, a text that is its only member, or a text that is JSON. */
export function isElsewhere(outcome: ToolOutcome): boolean {
  const { artifact, cut, text, structured } = outcome;
  if (artifact === undefined || cut === undefined || cut.isBrief === true) return false;
  return isStandIn(outcome) || cut.member !== undefined || (structured === undefined && /^\s*[[{]/.test(text));
}

/** The same answer with the data itself, or with the reason why it is not there. */
export async function withData(settled: SettledCall, outcome: ToolOutcome, run: ScriptRun): Promise<SettledCall> {
  const { artifact = "" } = outcome;
  if (!isJsonObject(settled.value)) return settled;
  const { structured, ...value } = settled.value;
  const found = await dataOf(artifact, outcome, run);
  if ("unread" in found && structured === undefined) return settled; // its text is the beginning, as of any text
  if (!("unread" in found)) run.journal.use(artifact); // the script has all of it
  const summary = structured === undefined ? {} : { summary: structured };
  return { ...settled, value: { ...summary, ...value, ...found } };
}

type Data = { readonly text?: string; readonly structured?: Json };

async function dataOf(
  digest: string,
  { cut, structured }: ToolOutcome,
  run: ScriptRun,
): Promise<Data | { readonly unread: string }> {
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  try {
    const { bytes: length } = await artifacts.meta(digest, principal);
    if (length > mostDataBytes || !run.budget.bring(length))
      return { unread: `The data has ${length} bytes and a script reads ${mostDataBytes} at most. ${instead}` };
    const { bytes } = await artifacts.open(digest, principal);
    return dataIn(Buffer.from(bytes).toString(), cut, structured !== undefined);
  } catch (error) {
    return { unread: `The data could not be read: ${messageOf(error)}. ${instead}` };
  }
}

/** @param kept the artifact's text: the result's own, or `{ text?, structured?, content? }` */
function dataIn(kept: string, cut: Cut | undefined, isStructured: boolean): Data {
  if (cut?.member !== undefined) return { text: kept, structured: { [cut.member]: kept } };
  if (!isStructured) return cut?.continuesAt === undefined ? {} : { text: kept };
  const body = JSON.parse(kept) as Json; // it was written as JSON
  if (cut?.continuesAt !== undefined) return { text: kept, structured: body };
  return { structured: isJsonObject(body) ? (body["structured"] ?? null) : null };
}

const instead = "Hand the result itself on to another tool, or ask the tool for less.";

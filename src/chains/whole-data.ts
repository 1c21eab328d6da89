/**
 * A result that was kept as an artifact comes into a script with its data: whether a list is iterated does not depend on its size.
 *
 * Texts stay outside: of them a script has the beginning, and the reference.
 */
import { messageOf } from "../calls/fault.ts";
import { isJsonObject, type Json } from "../calls/json.ts";
import type { ToolOutcome } from "../calls/outcome.ts";
import { referenceKey } from "../results/artifact-store.ts";
import type { Settled } from "./sandbox.ts";
import type { ScriptRun } from "./script-run.ts";

/** More stays outside, and the script is told so when it reads the data. */
const mostDataBytes = 1024 * 1024;

/** Whether the structured content stands for data that is in the artifact. */
export function isElsewhere({ artifact, structured }: ToolOutcome): boolean {
  return artifact !== undefined && isJsonObject(structured) && structured[referenceKey] === artifact;
}

/** The same answer with the data itself, or with the reason why it is not there. */
export async function withData(settled: Settled, digest: string, run: ScriptRun): Promise<Settled> {
  if (!isJsonObject(settled.value)) return settled;
  const { structured, ...value } = settled.value;
  const found = await dataOf(digest, run);
  if ("structured" in found) run.journal.use(digest); // the script has all of it
  const summary = structured === undefined ? {} : { summary: structured };
  return { ...settled, value: { ...summary, ...value, ...found } };
}

async function dataOf(digest: string, run: ScriptRun): Promise<{ structured: Json } | { unread: string }> {
  const { artifacts } = run.parts;
  const { principal } = run.facts.parent.authority;
  try {
    const { bytes: length } = await artifacts.meta(digest, principal);
    if (length > mostDataBytes || !run.budget.bring(length))
      return { unread: `The data has ${length} bytes and a script reads ${mostDataBytes} at most. ${instead}` };
    const { bytes } = await artifacts.open(digest, principal);
    const body: Json = JSON.parse(Buffer.from(bytes).toString());
    return { structured: isJsonObject(body) ? (body["structured"] ?? null) : null };
  } catch (error) {
    return { unread: `The data could not be read: ${messageOf(error)}. ${instead}` };
  }
}

const instead = "Hand the result itself on to another tool, or ask the tool for less.";

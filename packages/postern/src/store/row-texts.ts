/** The arguments and the outcome of a call as texts, and a row of the store in memory that keeps only these of them. */
import { type CallRecord, deepFrozen, isPlainText, type ToolCall, type ToolOutcome } from "@postern/core";
import { sha256 } from "@postern/core/system";

/** An outcome whose only content is its text is kept without the content. */
export function outcomeText(outcome: ToolOutcome | undefined): string | undefined {
  if (outcome === undefined) return undefined;
  const [only] = outcome.content;
  const isPlain = outcome.content.length === 1 && isPlainText(only) && only.text === outcome.text;
  return JSON.stringify(isPlain ? { ...outcome, content: undefined } : outcome);
}

export function outcomeOf(text: string): ToolOutcome {
  const outcome: ToolOutcome = JSON.parse(text);
  return deepFrozen({ ...outcome, content: outcome.content ?? [{ type: "text", text: outcome.text }] });
}

/** A row that has an outcome. What is searched stays as it is. */
export interface SettledRow extends Omit<CallRecord, "call" | "outcome"> {
  readonly call: Omit<ToolCall, "arguments" | "digest"> & { readonly arguments: undefined; readonly digest: undefined };
  readonly outcome: undefined;
  readonly outcomeText: string;
}

/** Returns undefined for a row without an outcome. */
export function settledRow(record: CallRecord): SettledRow | undefined {
  const text = outcomeText(record.outcome);
  if (text === undefined) return undefined;
  // Left-out members would make slower objects than undefined ones.
  const call = { ...record.call, arguments: undefined, digest: undefined };
  return { ...record, call, outcome: undefined, outcomeText: text };
}

export function recordOf({ outcomeText: text, ...row }: SettledRow): CallRecord {
  const given = { arguments: deepFrozen(JSON.parse(row.call.text)), digest: sha256(row.call.text) };
  return { ...row, call: { ...row.call, ...given }, outcome: outcomeOf(text) };
}

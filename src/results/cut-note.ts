import { isJsonObject } from "../core/json.ts";
import type { ContentBlock, Cut, ToolOutcome } from "../core/outcome.ts";
import { referenceKey } from "./artifact-store.ts";

/**
 * The outcome with a sentence at the end of its text where only a part of the result is in it: how much is shown, how much
 * there is, how to read on. Any other outcome as it is.
 *
 * @param readOn what this reader does to read the artifact from a byte on, as the end of a sentence
 */
export function withCutNote(outcome: ToolOutcome, readOn: (digest: string, fromByte: number) => string): ToolOutcome {
  const { artifact, cut, text, content } = outcome;
  if (artifact === undefined || cut === undefined) return outcome;
  const note = `[${sizesOf(cut)} To read on, ${readOn(artifact, cut.continuesAt ?? 0)}.]`;
  return { ...outcome, text: joined(text, note), content: withLastText(content, note) };
}

function sizesOf({ shownBytes, totalBytes, continuesAt }: Cut): string {
  if (continuesAt === undefined)
    return `Cut: ${shownBytes} bytes of its text are shown; the whole result is JSON of ${totalBytes} bytes.`;
  return `Cut: the first ${shownBytes} of ${totalBytes} bytes are shown.`;
}

function joined(text: string, note: string): string {
  return text === "" ? note : `${text}\n\n${note}`;
}

function withLastText(content: readonly ContentBlock[], note: string): readonly ContentBlock[] {
  const at = content.findLastIndex(({ type }) => type === "text");
  const last = content[at];
  if (last?.type !== "text") return [{ type: "text", text: note }, ...content];
  return content.with(at, { ...last, text: joined(last.text, note) });
}

/** Structured content that only says where the whole of it is: no reader that expects the tool's own data can use it. */
export function isStandIn({ artifact, cut, structured }: ToolOutcome): boolean {
  return (
    artifact !== undefined &&
    cut !== undefined &&
    isJsonObject(structured) &&
    structured[referenceKey] === artifact &&
    cut.isBrief !== true
  );
}

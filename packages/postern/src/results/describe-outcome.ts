import type { ContentBlock, MediaBlock, ToolOutcome } from "@postern/core";
import type { CleanResult } from "./clean.ts";
import { headOf } from "./cut.ts";
import { base64Bytes, describe, describeMedia, line } from "./describe.ts";
import { LargeJson } from "./large-json.ts";

/** The parts of an inline result. */
type Inline = Pick<ToolOutcome, "content" | "text" | "structured">;

/** An outcome in one line: what its result is, or why it has none. For `result_summary` of a run's records. Contract: as `describe`. */
export function describeOutcome(outcome: ToolOutcome): string {
  const { status, refusal, preview, approvalId, replayed } = outcome;
  const again = replayed === true ? "replayed: " : "";
  switch (status) {
    case "ok":
      return line(`${again}${outcome.summary ?? describeInline(outcome)}`);
    case "preview":
      return line(`previewed: ${preview?.summary ?? headOf(outcome.text, 1000)}`);
    case "pending":
      return line(`waits for a person${approvalId === undefined ? "" : ` (${approvalId})`}`);
    case "error":
    case "denied":
      return line(`${again}${refusal?.code ?? status}: ${headOf(refusal?.message ?? outcome.text, 1000)}`);
  }
  return status satisfies never;
}

/** The same for a whole result, before it is cut. */
export function describeWhole({ content, text, structured }: CleanResult): string {
  const description = structured instanceof LargeJson ? structured.facts.description : undefined;
  const value = structured === undefined || description !== undefined ? {} : { structured: structured.value };
  return line(describeInline({ content, text, ...value }, description));
}

/** @param description the description of the structured content, if known */
function describeInline({ content, text, structured }: Inline, description?: string): string {
  const parts = [
    ...(description !== undefined
      ? [description]
      : structured !== undefined
        ? [describe(structured)]
        : text === ""
          ? []
          : [describe(text)]),
    ...content.filter(isMedia).map((block) => mediaPart(block)),
    ...others(content),
  ];
  return parts.length === 0 ? "nothing" : parts.slice(0, mostParts).join("; ") + moreThan(parts.length);
}

const mostParts = 6;

function moreThan(parts: number): string {
  return parts > mostParts ? `; and ${parts - mostParts} more` : "";
}

function mediaPart({ mediaType, data, name }: MediaBlock): string {
  return describeMedia(mediaType, data === undefined ? undefined : base64Bytes(data), name);
}

function others(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => {
    if (block.type === "link") return [`link ${block.uri}`];
    if (block.type === "resource" && block.text === undefined) return [`resource ${block.uri}`];
    return [];
  });
}

function isMedia(block: ContentBlock): block is MediaBlock {
  return block.type === "image" || block.type === "audio" || block.type === "file";
}

import { isJsonObject } from "../../core/json.ts";
import type { ContentBlock } from "../../core/outcome.ts";
import { blockOf } from "../../tools/blocks.ts";

/** The kinds of blocks that a server may send; our own `file` and `artifact` are not among them. */
const kinds: ReadonlySet<unknown> = new Set(["text", "image", "audio", "resource", "resource_link"]);

/** A server's blocks in our spelling (SPEC 13.2). Never throws: what is not understood becomes its own text (case 245). */
export function contentOf(blocks: readonly unknown[]): readonly ContentBlock[] {
  return blocks.map((block) => {
    if (!isJsonObject(block) || !kinds.has(block["type"])) return asText(block);
    const { artifact: _, ...sent } = block;
    return blockOf(sent);
  });
}

function asText(block: unknown): ContentBlock {
  return { type: "text", text: JSON.stringify(block) ?? "" };
}

import type { Json, JsonObject } from "../core/json.ts";
import type { ContentBlock, ToolOutcome } from "../core/outcome.ts";
import { showHidden } from "../core/system/invisible.ts";

const byteOrderMark = "\u{feff}";

/** A third party's text as a model may read it: nothing in it is hidden. The mark that begins a file is left out. */
export function readable(text: string): string {
  return showHidden(text.startsWith(byteOrderMark) ? text.slice(1) : text);
}

/**
 * An outcome as it leaves the runtime: in its texts nothing is hidden. Structured values, bytes and artifacts are data that
 * programs compare and write back, so they stay as they are; a script, which is a program, is given the texts as they are too.
 *
 * @returns the same outcome when nothing is hidden
 */
export function readableOutcome(outcome: ToolOutcome): ToolOutcome {
  const { text, content, summary, refusal } = outcome;
  const blocks = content.map(readableBlock);
  const shown = {
    text: readable(text),
    content: blocks.every((block, at) => block === content[at]) ? content : Object.freeze(blocks),
    ...(summary !== undefined && { summary: readable(summary) }),
    ...(refusal !== undefined && { refusal: readableRefusal(refusal) }),
  };
  const isSame =
    shown.text === text && shown.content === content && shown.summary === summary && shown.refusal === refusal;
  return isSame ? outcome : Object.freeze({ ...outcome, ...shown } as ToolOutcome); // the same kind of outcome
}

function readableRefusal<Refusal extends { readonly message: string }>(refusal: Refusal): Refusal {
  const message = readable(refusal.message);
  return message === refusal.message ? refusal : Object.freeze({ ...refusal, message });
}

function readableBlock(block: ContentBlock): ContentBlock {
  if ((block.type !== "text" && block.type !== "resource") || block.text === undefined) return block;
  const text = readable(block.text);
  return text === block.text ? block : Object.freeze({ ...block, text });
}

/** A schema as it is shown: the same one when no text of it hides anything. */
export function readableSchema(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema);
  return showHidden(text) === text ? schema : (shown(schema) as JsonObject); // an object stays one
}

function shown(value: Json): Json {
  if (typeof value === "string") return showHidden(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(shown));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([name, member]) => [showHidden(name), shown(member)])),
  );
}

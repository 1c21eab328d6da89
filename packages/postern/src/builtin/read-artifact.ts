import { counted, type JsonObject, messageOf, readArtifactName, referenceKey } from "@postern/core";
import { cut } from "../results/cut.ts";
import { withBrief } from "../results/raw-result.ts";
import { defineTool } from "../tools/define.ts";
import type { LocalTool } from "../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../tools/tool.ts";
import type { Finder } from "./files/search/pattern.ts";
import { type Cuts, utf8In } from "./files/text.ts";

/** Room for the note beside the bytes. */
const besideBytes = 512;
/** At least so much of an artifact is read at once. */
const leastBytes = 256;
/** Length of one line with a match. */
const lineBytes = 500;
/** A longer line is searched in pieces of this length. */
const longestLine = 64 * 1024;

interface ArtifactInput {
  readonly artifact: string | { readonly $artifact: string };
  readonly offset?: number;
  readonly length?: number;
  readonly grep?: string;
}

const input: JsonObject = {
  type: "object",
  properties: {
    artifact: {
      description: "The artifact: its digest, its URI, or a reference to it.",
      anyOf: [
        { type: "string", minLength: 64, maxLength: 73 }, // a pattern would need a thread, which takes 20 MB
        { type: "object", properties: { [referenceKey]: { type: "string" } }, required: [referenceKey] },
      ],
    },
    offset: { type: "integer", minimum: 0, description: "The first byte to read; 0 if left out." },
    length: { type: "integer", minimum: 1, description: "How many bytes at most; as many as go inline if left out." },
    grep: {
      type: "string",
      minLength: 1,
      description: "Gives only the lines that match this RE2 pattern, each with the byte where it begins.",
    },
  },
  required: ["artifact"],
  additionalProperties: false,
};

/**
 * Reads a result that was too large to be returned at once, part by part. Reads only what was released to the caller.
 *
 * @public
 */
export const readArtifact: LocalTool = defineTool({
  name: readArtifactName,
  title: "Read an artifact",
  description:
    "Reads a tool result that was too large to be shown whole: a part of it from a byte on, or the lines that match a pattern. The answer says where to read on; parts that follow each other are together the exact content.",
  risk: "safe",
  effects: "read",
  idempotent: true,
  concurrencySafe: true,
  inputSchema: input,
  execute: (given, context) => read(given as unknown as ArtifactInput, context), // the schema says so
});

async function read(given: ArtifactInput, context: ToolContext): Promise<ToolAnswer> {
  const { artifact, offset = 0, length, grep } = given;
  const digest = (typeof artifact === "string" ? artifact : artifact[referenceKey]).replace(/^artifact:/, "");
  const room = Math.max(leastBytes, context.artifacts.inlineBytes - besideBytes);
  if (grep !== undefined) return matching(grep, { digest, offset, room }, context);
  const end = offset + Math.min(length ?? room, room);
  const { meta, chunks } = await context.artifacts.open(digest, { start: offset, end });
  const [kind] = meta.mediaType.split("/", 1);
  if ((kind === "image" || kind === "audio") && offset === 0)
    return { content: [{ type: kind, mediaType: meta.mediaType, artifact: digest }] };
  const bytes = await bytesOf(chunks);
  const part = partOf(bytes, { before: offset > 0, after: end < meta.bytes });
  const from = offset + part.begin;
  const to = offset + part.end;
  const what = part.isBase64 ? "Base64 of bytes" : "Bytes";
  return answer(part.text, `${what} ${from} to ${to} of ${meta.bytes}`, to < meta.bytes ? to : undefined);
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  return Buffer.concat(pieces);
}

interface ArtifactPart {
  readonly text: string;
  /** Which bytes the text represents. */
  readonly begin: number;
  readonly end: number;
  readonly isBase64: boolean;
}

/** Whole characters, else base64, which is a third longer than its bytes. */
function partOf(bytes: Buffer, cuts: Cuts): ArtifactPart {
  const found = utf8In(bytes, cuts);
  if (found !== undefined) return { ...found, isBase64: false };
  const end = Math.min(bytes.length, Math.max(1, Math.floor(bytes.length / 4) * 3));
  return { text: bytes.toString("base64", 0, end), begin: 0, end, isBase64: true };
}

async function matching(
  pattern: string,
  { digest, offset, room }: { readonly digest: string; readonly offset: number; readonly room: number },
  context: ToolContext,
): Promise<ToolAnswer> {
  const finder = await finderFor(pattern);
  if (typeof finder === "string") return { content: [{ type: "text", text: finder }], isError: true };
  const { chunks } = await context.artifacts.open(digest, { start: offset });
  const found: string[] = [];
  let used = 0;
  let next: number | undefined;
  for await (const { at, line } of linesOf(chunks, offset)) {
    context.check();
    if (!finder.holds(line)) continue;
    const shown = `${at}: ${cut(line, lineBytes)}`;
    used += Buffer.byteLength(shown) + 1;
    if (used > room && found.length > 0) {
      next = at;
      break;
    }
    found.push(shown);
  }
  return answer(found.join("\n"), `${counted(found.length, "line")} with a match`, next);
}

/** Returns a text if the pattern is wrong. The engine is loaded when it is needed. */
async function finderFor(pattern: string): Promise<Finder | string> {
  const { finderOf } = await import("./files/search/pattern.ts");
  try {
    return finderOf({ pattern, ignoreCase: false, literal: false });
  } catch (error) {
    return `The artifact ${messageOf(error)}`;
  }
}

/** Lines, each with the byte where it begins; a very long one in pieces. */
async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  from: number,
): AsyncGenerator<{ readonly at: number; readonly line: string }, void> {
  let rest = Buffer.alloc(0);
  let at = from;
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const newline = rest.indexOf(0x0a);
      const end = newline < 0 || newline > longestLine ? (rest.length > longestLine ? longestLine : -1) : newline + 1;
      if (end < 0) break;
      yield { at, line: rest.toString("utf8", 0, end).replace(/\r?\n$/, "") };
      at += end;
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) yield { at, line: rest.toString() };
}

/** Two blocks, so that the first is exactly what was read. It has the right size, so it must not be cut again. */
function answer(text: string, what: string, next: number | undefined): ToolAnswer {
  const end = next === undefined ? "that is the end" : `read on with "offset": ${next}`;
  const content = [
    { type: "text" as const, text },
    { type: "text" as const, text: `[${what}; ${end}.]` },
  ];
  return withBrief({ content }, "whole");
}

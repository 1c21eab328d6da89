import {
  type ContentBlock,
  type Cut,
  isJsonObject,
  type Json,
  type JsonObject,
  type MediaBlock,
  type Principal,
  type ResultFile,
  referenceKey,
  textOf,
} from "@postern/core";
import type { Session } from "../call/session.ts";
import type { ArtifactMeta, ArtifactStore } from "./artifact-store.ts";
import type { CleanJson, CleanResult } from "./clean.ts";
import { describeWhole } from "./describe-outcome.ts";
import type { Judgement } from "./judgement.ts";
import { factsOf, type JsonFacts, LargeJson, summaryOf } from "./large-json.ts";
import { mediaPath } from "./media.ts";
import { cutReadable, readableBytes } from "./readable.ts";

/** The owner of a result, and how much of it may go inline. */
export interface ShapeOrder {
  readonly callId: string;
  /** UTF-8 bytes of everything but media together, inclusive, with hidden characters of texts shown. */
  readonly limitBytes: number;
  readonly owner: Principal;
  /** Gets every pin, and its close removes them. */
  readonly session: Session;
  readonly tool: string;
  /** What is stored with each artifact of the result. */
  readonly judgementOf?: ((bytes: Uint8Array, mediaType: string) => Judgement) | undefined;
}

/** The part of an outcome that has the tool's answer. */
export interface ShapedAnswer {
  readonly content: readonly ContentBlock[];
  readonly text: string;
  readonly structured?: Json;
  readonly meta?: JsonObject;
  readonly artifact?: string;
  readonly cut?: Cut;
  readonly files?: readonly ResultFile[];
  readonly summary?: string;
}

type Resource = Extract<ContentBlock, { readonly type: "resource" }>;

/** A media block with its bytes. */
type Bytes = MediaBlock & { readonly data: string };

/** Whether nothing must be kept as an artifact: no media, and the rest within the limit. */
export function isSmall(result: CleanResult, { limitBytes, session }: ShapeOrder): boolean {
  return !result.content.some((block) => hasBytes(block) || isKept(block, session)) && isInline(result, limitBytes);
}

/**
 * Keeps media as artifacts, each with the path for scripts, and the rest as one artifact when it is too big.
 * One after another, so that after a failure the session knows every pin.
 */
export async function keepAsArtifacts(
  result: CleanResult,
  order: ShapeOrder,
  artifacts: ArtifactStore,
): Promise<ShapedAnswer> {
  const content: ContentBlock[] = [];
  const files: ResultFile[] = [];
  const isLarge = !isInline(result, order.limitBytes);
  for (const block of result.content) {
    if (hasBytes(block) || (isLarge && hasFile(block))) {
      const { data, ...rest } = block;
      const { mediaType = "application/octet-stream" } = block;
      const { digest, bytes } = await put({ bytes: Buffer.from(data, "base64"), mediaType }, order, artifacts);
      files.push({ path: mediaPath(order.tool, files.length, mediaType), mediaType, artifact: digest });
      content.push({ ...rest, artifact: digest, size: bytes });
    } else {
      if (isKept(block, order.session))
        files.push({
          path: mediaPath(order.tool, files.length, block.mediaType),
          mediaType: block.mediaType,
          artifact: block.artifact,
        });
      content.push(block);
    }
  }
  const found = { ...(files.length > 0 && { files }), summary: describeWhole(result) };
  if (isLarge && !isInline({ ...result, content }, order.limitBytes)) {
    return { ...(await keepWhole({ ...result, content }, order, artifacts)), ...found };
  }
  const { text, structured } = result;
  return { content, text, ...(structured && { structured: structured.value }), ...found };
}

/** Keeps the whole result as one artifact. The beginning of its text, a summary and the references of media stay. */
async function keepWhole(result: CleanResult, order: ShapeOrder, artifacts: ArtifactStore): Promise<ShapedAnswer> {
  const { content, text, brief } = result;
  const others = content.filter(isOther);
  const isOneText = others.length === 0 && (result.structured === undefined || isRepeatedInText(result));
  const structured = restates(result) ? undefined : result.structured;
  const body = isOneText ? text : wholeBody(ownText(content), structured, others);
  const mediaType = isOneText && structured === undefined ? "text/plain" : "application/json";
  const { digest, bytes } = await put({ bytes: Buffer.from(body), mediaType }, order, artifacts);
  const summary = structured && summaryOf(factsIn(structured).outline, digest, bytes);
  const summaryBytes = summary === undefined ? 0 : Buffer.byteLength(JSON.stringify(summary));
  const shownText = text === "" && summary === undefined ? `${bytes} bytes, kept as artifact ${digest}` : text;
  const head =
    brief === undefined
      ? cutReadable(shownText, Math.max(0, order.limitBytes - summaryBytes))
      : cutReadable(brief.text, order.limitBytes);
  const short = briefStructured(result, digest, bytes) ?? summary;
  const readOn = result.readOn?.(head.replace(/…$/, ""));
  const shownBytes = brief === undefined ? shownOf(head, shownText, text) : Buffer.byteLength(head);
  return {
    content: [
      ...(head === "" ? [] : [{ type: "text" as const, text: head }]),
      ...content.filter((block) => isMedia(block) || isKeptFile(block)),
    ],
    text: head,
    ...(short && { structured: short }),
    artifact: digest,
    cut: {
      ...{ shownBytes, totalBytes: bytes },
      ...(isOneText && brief === undefined && { continuesAt: shownBytes }),
      ...(structured === undefined && memberOf(result)),
      ...(brief !== undefined && { isBrief: true as const }),
      ...(readOn !== undefined && { readOn }),
    },
  };
}

/** The text without the lines for links and files elsewhere, which are kept as blocks. */
function ownText(content: readonly ContentBlock[]): string {
  return textOf(content.filter((block) => "text" in block));
}

/** The length of the beginning without its "…"; 0 for a text that only says that the result is kept. */
function shownOf(head: string, shownText: string, text: string): number {
  if (head === shownText) return shownText === text ? Buffer.byteLength(head) : 0;
  return Buffer.byteLength(head.replace(/…$/, ""));
}

function memberOf({ structured }: CleanResult): { readonly member?: string } {
  const member = structured && factsIn(structured).firstName;
  return member === undefined ? {} : { member };
}

/** `{ text?, structured?, content? }`, as `JSON.stringify` writes it. A text that equals the structured content is not written twice. */
function wholeBody(text: string, structured: CleanJson | undefined, others: readonly ContentBlock[]): string {
  const members = [
    ...(text === "" || text === structured?.text ? [] : [`"text":${JSON.stringify(text)}`]),
    ...(structured === undefined ? [] : [`"structured":${structured.text}`]),
    ...(others.length === 0 ? [] : [`"content":${JSON.stringify(others)}`]),
  ];
  return `{${members.join(",")}}`;
}

function factsIn(structured: CleanJson): JsonFacts {
  return structured instanceof LargeJson ? structured.facts : factsOf(structured.value);
}

/** The tool's own short form, and a reference to the whole result. */
function briefStructured({ brief }: CleanResult, digest: string, bytes: number): Json | undefined {
  if (brief === undefined || !isJsonObject(brief.structured.value)) return undefined;
  return { ...brief.structured.value, [referenceKey]: digest, bytes };
}

/** MCP servers send a plain text twice, the second time as `{ content: text }`. The artifact is then the text alone, so that it can be passed on. */
function restates({ text, structured }: CleanResult): boolean {
  if (structured instanceof LargeJson) return structured.isRepeated;
  if (!isJsonObject(structured?.value)) return false;
  const values = Object.values(structured.value);
  return values.length === 1 && values[0] === text;
}

/** Whether text and structured content are the same, so that they count once. MCP servers send JSON as a text too, often indented. */
function isRepeatedInText(result: CleanResult): boolean {
  const { text, structured } = result;
  if (structured === undefined) return false;
  if (text === structured.text || restates(result)) return true;
  if (structured instanceof LargeJson) return false;
  if (text === structured.value) return true;
  if (text.length < structured.text.length || !/^\s*[[{]/.test(text)) return false;
  try {
    return JSON.stringify(JSON.parse(text)) === structured.text;
  } catch {
    return false; // it is no JSON
  }
}

async function put(
  { bytes, mediaType }: { readonly bytes: Uint8Array; readonly mediaType: string },
  { owner, session, judgementOf }: ShapeOrder,
  artifacts: ArtifactStore,
): Promise<ArtifactMeta> {
  const meta = await artifacts.put(bytes, mediaType, owner, judgementOf?.(bytes, mediaType));
  await pinOnce(meta.digest, session, artifacts);
  return meta;
}

/** Pins each artifact once for a session, because closing the session unpins each once. */
export async function pinOnce(digest: string, session: Session, artifacts: ArtifactStore): Promise<void> {
  if (!session.pins.includes(digest)) session.pin(digest);
  else await artifacts.unpin(digest).catch(() => undefined); // a surplus pin only makes it live longer
}

/** Usually the length alone shows that a result is too big. */
function isInline(result: CleanResult, limitBytes: number): boolean {
  const { text, structured } = result;
  const leastBytes = Math.max(text.length, structured?.text.length ?? 0);
  return leastBytes <= limitBytes && bytesOf(result) <= limitBytes;
}

/** The bytes that count towards the limit. Media do not count, because they become artifacts of their own. */
function bytesOf(result: CleanResult): number {
  const { content, text, structured } = result;
  const textBytes = readableBytes(content.some(isOther) ? ownText(content) : text);
  const structuredBytes = structured === undefined ? 0 : Buffer.byteLength(structured.text);
  let bytes = isRepeatedInText(result) ? Math.max(textBytes, structuredBytes) : textBytes + structuredBytes;
  for (const block of content) {
    if (!isOther(block)) continue;
    // A resource's text is counted above.
    const rest = block.type === "resource" ? { ...block, text: undefined } : block;
    bytes += Buffer.byteLength(JSON.stringify(rest));
  }
  return bytes;
}

function isMedia(block: ContentBlock): block is MediaBlock {
  return block.type === "image" || block.type === "audio" || block.type === "file";
}

function hasBytes(block: ContentBlock): block is Bytes {
  return isMedia(block) && block.data !== undefined;
}

/** An embedded resource with bytes. It is kept like media when the result is too big with it. */
function hasFile(block: ContentBlock): block is Resource & { readonly data: string } {
  return block.type === "resource" && block.data !== undefined;
}

function isKeptFile(block: ContentBlock): boolean {
  return block.type === "resource" && block.artifact !== undefined;
}

/** Whether the block is a stream that was kept while it was read (stored-streams.ts). */
function isKept(block: ContentBlock, session: Session): block is MediaBlock & { readonly artifact: string } {
  return isMedia(block) && block.artifact !== undefined && session.pins.includes(block.artifact);
}

/** Resources and links: neither text nor media. */
function isOther(block: ContentBlock): block is Exclude<ContentBlock, MediaBlock | { readonly type: "text" }> {
  return block.type === "link" || (block.type === "resource" && !isKeptFile(block));
}

import type { Principal } from "../calls/call.ts";
import { isJsonObject, type Json } from "../calls/json.ts";
import type { ContentBlock, MediaBlock, ResultFile } from "../calls/outcome.ts";
import type { Session } from "../calls/session.ts";
import { type ArtifactMeta, type ArtifactStore, referenceKey } from "./artifact-store.ts";
import type { CleanJson, CleanResult } from "./clean.ts";
import { cut } from "./cut.ts";
import { describeWhole } from "./describe-outcome.ts";
import { bytesInTurns, spelledInTurns } from "./in-turns.ts";
import { mediaPath } from "./media.ts";
import { summaryOf } from "./summary.ts";

/** Whose result it is, and how much of it may go inline. */
export interface ShapeOrder {
  readonly callId: string;
  /** UTF-8 bytes of everything but media together, inclusive. */
  readonly limitBytes: number;
  readonly owner: Principal;
  /** Learns what was pinned, so that its close takes it back. */
  readonly session: Session;
  readonly tool: string;
}

/** The part of an outcome that says what the tool answered. */
export interface Shaped {
  readonly content: readonly ContentBlock[];
  readonly text: string;
  readonly structured?: Json;
  readonly artifact?: string;
  readonly files?: readonly ResultFile[];
  readonly summary?: string;
}

/** A media block that still has its bytes with it. */
type Bytes = MediaBlock & { readonly data: string };

/** Nothing of it has to be kept: no bytes of media, and the rest within the limit. */
export function isSmall(result: CleanResult, limitBytes: number): boolean {
  return !result.content.some(hasBytes) && isInline(result, limitBytes);
}

/**
 * Media by reference, each with the path a script finds it at; the rest, when it is too big, as one artifact.
 *
 * One after another, so that when one fails the session knows every pin made before (case 187).
 */
export async function keep(result: CleanResult, order: ShapeOrder, artifacts: ArtifactStore): Promise<Shaped> {
  const content: ContentBlock[] = [];
  const files: ResultFile[] = [];
  for (const block of result.content) {
    if (hasBytes(block)) {
      const { data, ...rest } = block;
      const { mediaType } = block;
      const { digest } = await put({ bytes: Buffer.from(data, "base64"), mediaType }, order, artifacts);
      files.push({ path: mediaPath(order.tool, files.length, mediaType), mediaType, artifact: digest });
      content.push({ ...rest, artifact: digest });
    } else {
      content.push(block);
    }
  }
  const found = { ...(files.length > 0 && { files }), summary: describeWhole(result) };
  if (!isInline(result, order.limitBytes)) {
    return { ...(await keepWhole({ ...result, content }, order, artifacts)), ...found };
  }
  const { text, structured } = result;
  return { content, text, ...(structured && { structured: structured.value }), ...found };
}

/** The whole result as one artifact; the head of its text, a summary and the media's references stay. */
async function keepWhole(result: CleanResult, order: ShapeOrder, artifacts: ArtifactStore): Promise<Shaped> {
  const { content, text } = result;
  const others = content.filter(isOther);
  const structured = repeats(result) ? undefined : result.structured;
  const plain = structured === undefined && others.length === 0;
  const body = plain ? [text] : await wholeBody(text, structured, others);
  const mediaType = plain ? "text/plain" : "application/json";
  const { digest, bytes } = await put({ bytes: await bytesInTurns(body), mediaType }, order, artifacts);
  const summary = structured && summaryOf(structured.value, digest, bytes);
  const summaryBytes = summary === undefined ? 0 : Buffer.byteLength(JSON.stringify(summary));
  const told = text === "" && summary === undefined ? `${bytes} bytes, kept as artifact ${digest}` : text;
  const head =
    result.brief === undefined
      ? cut(told, Math.max(0, order.limitBytes - summaryBytes))
      : cut(result.brief.text, order.limitBytes);
  const short = inBrief(result, digest, bytes) ?? summary;
  return {
    content: [...(head === "" ? [] : [{ type: "text" as const, text: head }]), ...content.filter(isMedia)],
    text: head,
    ...(short && { structured: short }),
    artifact: digest,
  };
}

/** `{ text?, structured?, content? }`, as `JSON.stringify` writes it; a text that is the structured content's own is not said twice. */
async function wholeBody(
  text: string,
  structured: CleanJson | undefined,
  others: readonly ContentBlock[],
): Promise<readonly string[]> {
  const members = [
    ...(text === "" || text === structured?.text ? [] : [['"text":', ...(await spelledInTurns(text))]]),
    ...(structured === undefined ? [] : [['"structured":', structured.text]]),
    ...(others.length === 0 ? [] : [['"content":', JSON.stringify(others)]]),
  ];
  return ["{", ...members.flatMap((member, i) => (i === 0 ? member : [",", ...member])), "}"];
}

/** Its own short form, and where all of it is. */
function inBrief({ brief }: CleanResult, digest: string, bytes: number): Json | undefined {
  if (brief === undefined || !isJsonObject(brief.structured.value)) return undefined;
  return { ...brief.structured.value, [referenceKey]: digest, bytes };
}

/** MCP servers say a plain text twice, the second time as `{ content: text }`: kept, it is that text, so that it can be passed on. */
function repeats({ text, structured }: CleanResult): boolean {
  if (!isJsonObject(structured?.value)) return false;
  const values = Object.values(structured.value);
  return values.length === 1 && values[0] === text;
}

/** Each artifact is pinned once for a session, however often it was put: its close takes back one pin each. */
async function put(
  { bytes, mediaType }: { readonly bytes: Uint8Array; readonly mediaType: string },
  { owner, session }: ShapeOrder,
  artifacts: ArtifactStore,
): Promise<ArtifactMeta> {
  const meta = await artifacts.put(bytes, mediaType, owner);
  if (session.pins.includes(meta.digest)) {
    await artifacts.unpin(meta.digest).catch(() => undefined); // one pin too many: it only lives longer
  } else {
    session.pin(meta.digest);
  }
  return meta;
}

/** Most of what is too big is so by its length alone. */
function isInline(result: CleanResult, limitBytes: number): boolean {
  const { text, structured } = result;
  return text.length + (structured?.text.length ?? 0) <= limitBytes && bytesOf(result) <= limitBytes;
}

/** What counts towards the limit; media do not, they have artifacts of their own. */
function bytesOf({ content, text, structured }: CleanResult): number {
  let bytes = Buffer.byteLength(text);
  if (structured !== undefined) bytes += Buffer.byteLength(structured.text);
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

/** Resources and links: neither text nor media. */
function isOther(block: ContentBlock): block is Exclude<ContentBlock, MediaBlock | { readonly type: "text" }> {
  return block.type === "resource" || block.type === "link";
}

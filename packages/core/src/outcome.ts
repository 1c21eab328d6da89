import type { Json, JsonObject } from "./json.ts";
import type { Refusal } from "./refusals.ts";

export type CallStatus = ToolOutcome["status"];

/** What a server adds to a block. It is passed on unchanged and not read here. */
interface BlockNotes {
  /** MCP's `annotations`: audience, priority, last change. */
  readonly annotations?: JsonObject;
  /** MCP's `_meta` of the block. */
  readonly meta?: JsonObject;
}

/** A tool's answer consists of these: MCP's blocks in camelCase. Bytes are base64 text, or an artifact's digest. */
export type ContentBlock = BlockNotes &
  ({ readonly type: "text"; readonly text: string } | MediaFields | ResourceFields | LinkFields);

/** An image, a sound or another file: inline (`data`, base64), by reference (`artifact`), or somewhere else (`url`, `fileId`). */
export type MediaBlock = BlockNotes & MediaFields;

interface MediaFields {
  readonly type: "image" | "audio" | "file";
  readonly mediaType: string;
  readonly data?: string;
  readonly artifact?: string;
  readonly url?: string;
  /** The id of a file that a model provider keeps. */
  readonly fileId?: string;
  readonly name?: string;
  /** Bytes, when they are kept instead of sent. */
  readonly size?: number;
}

interface ResourceFields {
  readonly type: "resource";
  readonly uri: string;
  readonly mediaType?: string;
  readonly text?: string;
  readonly data?: string;
  /** Digest of the bytes, when they are kept instead of sent. */
  readonly artifact?: string;
  /** Bytes, when they are kept instead of sent. */
  readonly size?: number;
  /** MCP's `_meta` of the resource inside the block. */
  readonly resourceMeta?: JsonObject;
}

interface LinkFields {
  readonly type: "link";
  readonly uri: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mediaType?: string;
  /** Bytes. */
  readonly size?: number;
  readonly icons?: Json;
}

/** A media block that was kept as an artifact: where a script finds it. */
export interface ResultFile {
  readonly path: string;
  readonly mediaType: string;
  readonly artifact: string;
}

/** What the call would do. Nothing of it was done. */
export interface Preview {
  readonly summary: string;
  /** Unified. */
  readonly diff?: string;
  /** What changes, as rows. */
  readonly table?: { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
  /** The message that the recipients would read. */
  readonly message?: { readonly to?: readonly string[]; readonly subject?: string; readonly body: string };
  readonly details?: Json;
  /** False: the tool offers no preview, and the summary is only the call itself. */
  readonly supported: boolean;
  /** Why the tool's preview could not be made. */
  readonly problem?: string;
}

/** A guardrail's finding in a result that is returned nevertheless. */
export interface Mark {
  readonly guardrail: string;
  readonly why: string;
}

/** How much of a result that is kept as an artifact is in the text. */
export interface Cut {
  /** UTF-8 bytes of the result that are in the text. */
  readonly shownBytes: number;
  /** Bytes of the artifact. */
  readonly totalBytes: number;
  /** The artifact goes on after the text at this byte. Without it, the artifact is `{ text?, structured?, content? }`. */
  readonly continuesAt?: number;
  /** The structured content was `{ [this]: text }`, which the artifact does not repeat. */
  readonly member?: string;
  /** Text and structured content are a short form that the tool itself made. */
  readonly isBrief?: true;
  /** How the tool itself reads on, as the end of a sentence. */
  readonly readOn?: string;
}

/** Members that an outcome of any status may have. */
interface OutcomeFields {
  readonly callId: string;
  readonly content: readonly ContentBlock[];
  /** The text blocks, and a line for each link and each file elsewhere, joined by line breaks. */
  readonly text: string;
  readonly structured?: Json;
  /** MCP's `_meta` of the result, for clients that know its keys. Models do not read it. */
  readonly meta?: JsonObject;
  /** Digest of the whole result, when only its beginning is inline. */
  readonly artifact?: string;
  /** Present with `artifact`: how much of it the text shows. */
  readonly cut?: Cut;
  readonly files?: readonly ResultFile[];
  /** What the whole result is, in one line of at most 480 bytes, when not all of it is inline. */
  readonly summary?: string;
  readonly preview?: Preview;
  /**
   * Sentences that say how the result differs from the request: a person changed the arguments, or the answer is that of
   * an earlier call. Text, content and structured content do not hold them. A model reads them first.
   */
  readonly notes?: readonly string[];
  /** Guardrails marked the result: its text begins with the marks, and its run is tainted. */
  readonly marks?: readonly Mark[];
  /** It may hold bytes of an artifact that third parties have written, so its run is tainted, whatever the tool is. */
  readonly openWorld?: true;
  readonly refusal?: Refusal;
  readonly approvalId?: string;
  /** Wall clock, milliseconds: until when a pending approval can be decided. */
  readonly expiresAt?: number;
  /** The tool did not run for this arrival: this is the outcome of the same call before. */
  readonly replayed?: true;
  /** The call timed out; its status may be `unknown`. */
  readonly timedOut?: true;
}

/** How a call ended. Frozen data, in one shape for every interface, replay and record. */
export type ToolOutcome =
  | (OutcomeFields & { readonly status: "ok" })
  | (OutcomeFields & { readonly status: "pending"; readonly approvalId: string; readonly expiresAt: number })
  | (OutcomeFields & { readonly status: "preview"; readonly preview: Preview })
  | (OutcomeFields & { readonly status: "denied" | "error"; readonly refusal: Refusal });

/** Whether a block is text without annotations. */
export function isPlainText(
  block: ContentBlock | undefined,
): block is { readonly type: "text"; readonly text: string } {
  return block?.type === "text" && block.annotations === undefined && block.meta === undefined;
}

export function textOf(content: readonly ContentBlock[]): string {
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return content.flatMap((block) => wordsOf(block) ?? []).join("\n");
}

/** A block of bytes in one line, for a reader who cannot take it. Returns undefined for a block that is in the text already. */
export function lineOfBytes(block: ContentBlock): string | undefined {
  if (block.type === "text" || block.type === "link") return undefined;
  const isKeptResource = block.type === "resource" && block.artifact !== undefined; // its line in the text names no artifact
  if (wordsOf(block) !== undefined && !isKeptResource) return undefined;
  const { mediaType, data, artifact, size = data && bytesOf(data) } = block;
  const name = block.type === "resource" ? block.uri : block.name;
  const bytes = size === undefined ? undefined : `${size} bytes`;
  return lineOf(block.type, [name, mediaType, bytes, artifact && `artifact ${artifact}`]);
}

/** Bytes that a base64 text stands for. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** A block as text. Returns undefined for bytes, which are in `files` or in the block itself. */
function wordsOf(block: ContentBlock): string | undefined {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return block.text ?? lineOf("embedded resource", [block.uri, block.mediaType]);
    case "link": {
      const { uri, title, name, mediaType, size, description } = block;
      const bytes = size === undefined ? undefined : `${size} bytes`;
      return lineOf("resource link", [title ?? name, uri, mediaType, bytes, description]);
    }
    case "image":
    case "audio":
    case "file": {
      const { type, name, url, fileId, mediaType } = block;
      const place = url ?? (fileId === undefined ? undefined : `file ${fileId}`);
      return place === undefined ? undefined : lineOf(type, [name, place, mediaType]);
    }
  }
}

function lineOf(what: string, parts: readonly (string | undefined)[]): string {
  const texts = parts.filter((part) => part !== undefined && part !== "").map((part) => part?.replaceAll(/\s+/g, " "));
  return `[${what}: ${texts.join(", ")}]`;
}

/** An outcome without a result; its text is for the model. */
export function refusedOutcome(callId: string, status: "denied" | "error", refused: Refusal): ToolOutcome {
  return {
    status,
    callId,
    content: [{ type: "text", text: refused.message }],
    text: refused.message,
    refusal: refused,
  };
}

/** The exception of the throwing API. Its `code` is the refusal's, or the outcome's status (`pending`, `preview`). */
export class CallRefused extends Error {
  override readonly name = "CallRefused";
  readonly outcome: ToolOutcome;
  readonly code: string;

  /** @param message by default the outcome's text */
  constructor(outcome: ToolOutcome, message: string = outcome.text) {
    super(message);
    this.outcome = outcome;
    this.code = outcome.refusal?.code ?? outcome.status;
  }
}

import type { Json } from "./json.ts";
import type { Refusal } from "./refusals.ts";

export type CallStatus = ToolOutcome["status"];

/** What a tool's answer is made of: MCP's blocks in our spelling. Bytes are base64 text, or an artifact's digest. */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | MediaBlock
  | {
      readonly type: "resource";
      readonly uri: string;
      readonly mediaType?: string;
      readonly text?: string;
      readonly data?: string;
    }
  | { readonly type: "link"; readonly uri: string; readonly name?: string; readonly mediaType?: string };

/** An image, a sound or another file: inline (`data`, base64) or by reference (`artifact`). */
export interface MediaBlock {
  readonly type: "image" | "audio" | "file";
  readonly mediaType: string;
  readonly data?: string;
  readonly artifact?: string;
  readonly name?: string;
}

/** A media block that was kept as an artifact: where a script finds it (SPEC 3.6, 10.2). */
export interface ResultFile {
  readonly path: string;
  readonly mediaType: string;
  readonly artifact: string;
}

/** SPEC 3.15. What would happen; nothing of it was done. */
export interface Preview {
  readonly summary: string;
  /** Unified. */
  readonly diff?: string;
  /** What changes, as rows. */
  readonly table?: { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
  /** A message as whoever gets it will read it. */
  readonly message?: { readonly to?: readonly string[]; readonly subject?: string; readonly body: string };
  readonly details?: Json;
  /** False: the tool offers none, and the summary is only the call itself. */
  readonly supported: boolean;
  /** Why there is none although the tool offers one. */
  readonly problem?: string;
}

/** What a guardrail found in a result that goes back all the same. */
export interface Mark {
  readonly guardrail: string;
  readonly why: string;
}

/** What an outcome may have whatever its status is. */
interface Left {
  readonly callId: string;
  readonly content: readonly ContentBlock[];
  /** The text blocks, joined by line breaks. */
  readonly text: string;
  readonly structured?: Json;
  /** Digest of the whole result when only its head is inline. */
  readonly artifact?: string;
  readonly files?: readonly ResultFile[];
  /** What the whole result is, in one line of at most 480 bytes, when not all of it is inline. */
  readonly summary?: string;
  readonly preview?: Preview;
  /** The result came back marked: its text says so first, and its run is tainted. */
  readonly marks?: readonly Mark[];
  readonly refusal?: Refusal;
  readonly approvalId?: string;
  /** Wall clock, milliseconds: until when a pending approval can be decided. */
  readonly expiresAt?: number;
  /** The tool did not run for this arrival: this is what the same call ended with before. */
  readonly replayed?: true;
  /** The trace says `timeout` (C11), also where the outcome is `unknown` (D6). */
  readonly timedOut?: true;
}

/** How a call left. Frozen data; the same shape for every door, for replay and for the record. */
export type ToolOutcome =
  | (Left & { readonly status: "ok" })
  | (Left & { readonly status: "pending"; readonly approvalId: string; readonly expiresAt: number })
  | (Left & { readonly status: "preview"; readonly preview: Preview })
  | (Left & { readonly status: "denied" | "error"; readonly refusal: Refusal });

export function textOf(content: readonly ContentBlock[]): string {
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return content
    .flatMap((block) =>
      (block.type === "text" || block.type === "resource") && block.text !== undefined ? [block.text] : [],
    )
    .join("\n");
}

/** An outcome without a result: its text is what the model is told. */
export function refusedOutcome(callId: string, status: "denied" | "error", refused: Refusal): ToolOutcome {
  return {
    status,
    callId,
    content: [{ type: "text", text: refused.message }],
    text: refused.message,
    refusal: refused,
  };
}

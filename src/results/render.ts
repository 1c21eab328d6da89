import { isJsonObject, type Json } from "../calls/json.ts";
import type { ContentBlock, ToolOutcome } from "../calls/outcome.ts";
import type { Retry } from "../calls/refusals.ts";
import { referenceKey } from "./artifact-store.ts";
import { withCutNote } from "./cut-note.ts";

/** What a model reads of an outcome: one rendering for MCP, HTTP, scripts, the command line and every agent library. */
export interface RenderedOutcome {
  /** All that a reader of text needs: the result, or what happened and what to do next. */
  readonly text: string;
  /** The same as blocks, with media. */
  readonly content: readonly ContentBlock[];
  /** The tool's own structured result; of a call without a result, an object that says which and why. */
  readonly structured?: Json;
  /** True when the tool did not do what was asked. */
  readonly isError: boolean;
}

export interface RenderOptions {
  /** The name by which the model knows the tool. */
  readonly tool: string;
  /** The page where a person decides, where there is one. */
  readonly page?: string | undefined;
  /** How this reader reads a cut result on from a byte, as the end of a sentence. */
  readonly readOn?: (digest: string, fromByte: number) => string;
}

/**
 * Turns any outcome into what a model reads.
 *
 * A pending call tells the model that a person decides and what to do meanwhile. A refused call names the reason and the
 * next step. Neither says how a person decides: that is for people.
 *
 * @example
 * renderOutcome(outcome, { tool: "send_email" }).text; // "Not run yet: `send_email` needs a person's approval …"
 *
 * @public
 */
export function renderOutcome(
  given: ToolOutcome,
  { tool, page, readOn = byReference }: RenderOptions,
): RenderedOutcome {
  const request = openRequestOf(given);
  if (request !== undefined) return ofText(pendingText(tool, request, page), pendingObject(given, request, page));
  const outcome = withCutNote(given, readOn);
  switch (outcome.status) {
    case "ok":
    case "pending":
      return succeeded(outcome);
    case "preview":
      return ofText(previewText(tool, outcome), { status: "preview", preview: outcome.preview as unknown as Json });
    case "error":
    case "denied":
      return refused(outcome);
  }
  return outcome satisfies never;
}

/** A reader without a tool for artifacts can still hand the whole to another tool. */
function byReference(digest: string): string {
  return `pass {"${referenceKey}": "${digest}"} as an argument to a tool that takes the whole`;
}

/** A request for approval that a person can still decide. */
export interface OpenRequest {
  readonly id: string;
  /** ISO 8601. */
  readonly expiresAt: string | undefined;
}

/** The open request behind an outcome: of a pending call, and of a call whose caller stopped waiting. */
export function openRequestOf({ status, approvalId, expiresAt, refusal }: ToolOutcome): OpenRequest | undefined {
  if (status !== "pending" && refusal?.code !== "approval_timed_out") return undefined;
  const details = isJsonObject(refusal?.details) ? refusal.details : {};
  const id = approvalId ?? details["approval_id"];
  const until = expiresAt === undefined ? details["expires_at"] : new Date(expiresAt).toISOString();
  return typeof id === "string" ? { id, expiresAt: typeof until === "string" ? until : undefined } : undefined;
}

/** What the model can do after a refusal, by its retry hint. */
const nextSteps: Readonly<Record<Retry, string>> = {
  never: "Do not send it again as it is.",
  later: "You can send it again later.",
  changed: "Change the arguments and send it again.",
  "same-key": "Do not repeat it with a new key: it may have happened.",
  "ask-again": "Send it again to ask a person again.",
};

function succeeded({ text, content, structured }: ToolOutcome): RenderedOutcome {
  if (structured === undefined) return { text, content, isError: false };
  // A reader of text alone must not miss a result that is structured only.
  return { text: text === "" ? JSON.stringify(structured) : text, content, structured, isError: false };
}

function refused(outcome: ToolOutcome & { readonly status: "error" | "denied" }): RenderedOutcome {
  const { status, refusal, content, text, structured } = outcome;
  const { code, message, retry, details } = refusal;
  // The tool's own error text is its answer: the model reads it as it is.
  const own = code === "tool_failed" && text !== "" && text !== message;
  const said = own ? text : `${message} ${nextSteps[retry]}`;
  return {
    text: said,
    content: own ? content : [{ type: "text", text: said }],
    structured: {
      status,
      code,
      message,
      retry,
      ...(details !== undefined && { details }),
      ...(structured !== undefined && { structured }),
    },
    isError: true,
  };
}

function ofText(text: string, structured: Json): RenderedOutcome {
  return { text, content: [{ type: "text", text }], structured, isError: true };
}

function pendingText(tool: string, { id, expiresAt }: OpenRequest, page: string | undefined): string {
  const until = expiresAt === undefined ? "" : ` until ${expiresAt}`;
  return `Not run yet: \`${tool}\` needs a person's approval. The request ${id} is open${until}. Tell the user that a person must decide it ${placeOf(page)}; you cannot. Go on with other work meanwhile. Later send the same call again, with exactly the same arguments: it runs once, or says what was decided.`;
}

function pendingObject({ callId }: ToolOutcome, { id, expiresAt }: OpenRequest, page: string | undefined): Json {
  return {
    status: "approval_pending",
    call_id: callId,
    approval_id: id,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    how_to_approve: `A person decides ${placeOf(page)}.`,
    ...(page !== undefined && { url: page }),
    meanwhile: "go on with other work",
    retry: "send the same call again",
  };
}

/** People decide there; how they do it is not the agent's affair. */
function placeOf(page: string | undefined): string {
  return page === undefined ? "in the Postern console" : `in the Postern console (${page})`;
}

function previewText(tool: string, { preview }: ToolOutcome & { readonly status: "preview" }): string {
  const diff = preview.diff === undefined ? "" : `\n${preview.diff}`;
  return `Not run: at this autonomy level \`${tool}\` is only previewed. It would do this: ${preview.summary}${diff}`;
}

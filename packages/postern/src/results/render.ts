import {
  type ContentBlock,
  isJsonObject,
  type Json,
  lineOfBytes,
  nextStepOf,
  type Refusal,
  referenceKey,
  refusal,
  type ToolOutcome,
} from "@postern/core";
import { withCutNote } from "./cut.ts";
import { readable } from "./readable.ts";

/**
 * An outcome as a model reads it: one rendering for MCP, HTTP, scripts, the command line and every agent library.
 * A model never reads an empty result. If a result differs from the request, its first sentence says how.
 */
export interface RenderedOutcome {
  /** Everything for a reader of text: the result, or what happened and what to do next. */
  readonly text: string;
  /** The same as blocks, with media. */
  readonly content: readonly ContentBlock[];
  /** The tool's own structured result. For a call without a result, an object with the status and the reason. */
  readonly structured?: Json;
  /** True when the tool did not do the task. */
  readonly isError: boolean;
  /** What happened, without the advice, when the call was refused or waits. */
  readonly message?: string;
  /** What the reader can do next, when the call was refused or waits. The text has it too. */
  readonly advice?: string;
}

/** Who reads the outcome. */
export interface RenderOptions {
  /** The name under which the model knows the tool. */
  readonly tool: string;
  /** The page where a person decides, if there is one. */
  readonly page?: string | undefined;
  /** How this reader continues a cut result at a byte, as the end of a sentence. */
  readonly readOn?: (digest: string, fromByte: number) => string;
  /** The structured result for this reader. Default: all of it. */
  readonly structuredOf?: (outcome: ToolOutcome) => Json | undefined;
  /** How this reader reads the bytes of a block that were kept as an artifact, as the end of a sentence. */
  readonly readFile?: string;
  /** The reader is a program, which finds the notes in the outcome and parses the text. */
  readonly isProgram?: true;
  /** The reader is a script. It cannot send a call again, because its next call is another call. */
  readonly inScript?: true;
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
export function renderOutcome(given: ToolOutcome, options: RenderOptions): RenderedOutcome {
  const { tool, page, readOn = byReference, structuredOf = ownStructured, inScript } = options;
  if (inScript === true && given.refusal?.code === "approval_timed_out")
    return ofRefusal(given, unansweredInScript, continueAdvice);
  const request = openRequestOf(given);
  if (request !== undefined) return waiting(given, { tool, request, page });
  const outcome = withCutNote(given, readOn);
  const structured = structuredOf(outcome);
  switch (outcome.status) {
    case "ok":
    case "pending":
      return succeeded(outcome, structured, options);
    case "preview":
      return ofText(previewText(tool, outcome), { status: "preview", preview: outcome.preview as unknown as Json });
    case "error":
    case "denied":
      return outcome.refusal.code === "tool_failed"
        ? failed(outcome, structured, options)
        : ofRefusal(outcome, outcome.refusal, nextStepOf(outcome.refusal), structured);
  }
  return outcome satisfies never;
}

function ownStructured({ structured }: ToolOutcome): Json | undefined {
  return structured;
}

/** For a reader without a tool for artifacts: it can still pass the whole to another tool. */
function byReference(digest: string): string {
  return `pass {"${referenceKey}": "${digest}"} as an argument to a tool that takes the whole`;
}

/** A request for approval that a person can still decide. */
export interface OpenRequest {
  readonly id: string;
  /** ISO 8601. */
  readonly expiresAt: string | undefined;
}

/**
 * The open request of an outcome: of a pending call, or of a call whose caller stopped waiting.
 *
 * @public
 */
export function openRequestOf({ status, approvalId, expiresAt, refusal }: ToolOutcome): OpenRequest | undefined {
  if (status !== "pending" && refusal?.code !== "approval_timed_out") return undefined;
  const details = isJsonObject(refusal?.details) ? refusal.details : {};
  const id = approvalId ?? details["approval_id"];
  const until = expiresAt === undefined ? details["expires_at"] : new Date(expiresAt).toISOString();
  return typeof id === "string" ? { id, expiresAt: typeof until === "string" ? until : undefined } : undefined;
}

/** A request for approval is withdrawn when the script that waits for it ends. */
const unansweredInScript: Refusal = refusal(
  "approval_timed_out",
  "The request was not decided in time. It is withdrawn when this script ends.",
);
const continueAdvice = "To have it done, call the tool directly, outside the script. Otherwise go on without it.";

function succeeded(outcome: ToolOutcome, structured: Json | undefined, options: RenderOptions): RenderedOutcome {
  const read = withNotes(withFiles(outcome, options), outcome, options);
  if (structured !== undefined)
    // A reader of text alone must get a result that is only structured.
    return { ...(read.text === "" ? { ...read, text: JSON.stringify(structured) } : read), structured, isError: false };
  const isEmpty = outcome.text === "" && outcome.content.every((block) => block.type === "text" && block.text === "");
  if (!isEmpty || options.isProgram === true) return { ...read, isError: false };
  const none = `\`${options.tool}\` ran and returned nothing.`;
  return { text: joined(read.text, none), content: [...notesBlock(outcome), asText(none)], isError: false };
}

type Read = Pick<RenderedOutcome, "text" | "content">;

/** A line for each block of bytes, because a reader of text would not learn that it exists. */
function withFiles({ text, content }: Read, { isProgram, readFile }: RenderOptions): Read {
  const lines = content.flatMap((block) => lineOfBytes(block) ?? []);
  if (lines.length === 0 || (isProgram === true && text !== "")) return { text, content };
  const isKept = content.some((block) => block.type !== "text" && "artifact" in block);
  const advice = readFile !== undefined && isKept ? [`To read a block that is kept as an artifact, ${readFile}.`] : [];
  return {
    text: [...(text === "" ? [] : [text]), ...lines, ...advice].join("\n"),
    content: [...content, ...advice.map(asText)],
  };
}

/** A program finds the notes in the outcome, so its text stays as the tool gave it. */
function withNotes({ text, content }: Read, outcome: ToolOutcome, { isProgram }: RenderOptions): Read {
  const [block] = notesBlock(outcome);
  if (block === undefined || isProgram === true) return { text, content };
  return { text: text === "" ? block.text : `${block.text}\n\n${text}`, content: [block, ...content] };
}

type PlainText = Extract<ContentBlock, { readonly type: "text" }>;

function notesBlock({ notes = [] }: ToolOutcome): PlainText[] {
  return notes.length === 0 ? [] : [asText(notes.join(" "))];
}

function asText(text: string): PlainText {
  return { type: "text", text };
}

/** The tool's own answer or error. The model reads it unchanged, with a note when the call can be sent again. */
function failed(outcome: RefusedOutcome, structured: Json | undefined, options: RenderOptions): RenderedOutcome {
  const { refusal: given } = outcome;
  const { text, content } = withNotes(withFiles(outcome, options), outcome, options);
  const advice = given.retry === "never" ? "" : nextStepOf(given);
  const isAlreadyThere = advice === "" || endsWithAdvice(text, advice);
  return {
    text: isAlreadyThere ? text : joined(text, advice),
    content: isAlreadyThere ? content : [...content, asText(advice)],
    structured: refusedObject(outcome, given, structured),
    isError: true,
    message: given.message,
    ...(advice !== "" && { advice }),
  };
}

/** A refusal of Postern: which condition failed, and what can be done next. */
function ofRefusal(outcome: ToolOutcome, given: Refusal, advice: string, structured?: Json): RenderedOutcome {
  const text = endsWithAdvice(given.message, advice) ? given.message : joined(given.message, advice);
  const { message } = given;
  return { ...ofText(text, refusedObject(outcome, given, structured)), message, ...(advice !== "" && { advice }) };
}

function refusedObject(
  { status }: ToolOutcome,
  { code, message, retry, details }: Refusal,
  structured: Json | undefined,
): Json {
  const known = details !== undefined && { details };
  return { status, code, message, retry, ...known, ...(structured !== undefined && { structured }) };
}

/** Whether the message ends with the advice already, ignoring case. */
function endsWithAdvice(message: string, advice: string): boolean {
  return message.toLowerCase().includes(advice.toLowerCase().replace(/\.$/, ""));
}

function joined(text: string, advice: string): string {
  return text === "" ? advice : `${text} ${advice}`;
}

type RefusedOutcome = Extract<ToolOutcome, { readonly status: "error" | "denied" }>;

interface WaitingRender {
  readonly tool: string;
  readonly request: OpenRequest;
  readonly page: string | undefined;
}

function ofText(text: string, structured: Json): RenderedOutcome {
  return { text, content: [{ type: "text", text }], structured, isError: true };
}

function waiting(
  { callId, notes = [] }: ToolOutcome,
  { tool, request: { id, expiresAt }, page }: WaitingRender,
): RenderedOutcome {
  const until = expiresAt === undefined ? "" : ` until ${expiresAt}`;
  const advice = `Tell the user that a person must decide it ${placeOf(page)}; you cannot. Go on with other work meanwhile. Later send the same call again, with exactly the same arguments: it runs once, or says what was decided.`;
  const open = `Not run yet: \`${tool}\` needs a person's approval. The request ${id} is open${until}.`;
  const message = [...notes, open].join(" ");
  const structured = {
    status: "approval_pending",
    ...(notes.length > 0 && { notes }),
    call_id: callId,
    approval_id: id,
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    how_to_approve: howToApprove(page),
    ...(page !== undefined && { url: page }),
    meanwhile: "go on with other work",
    retry: "send the same call again",
  };
  return { ...ofText(`${message} ${advice}`, structured), message, advice };
}

/** For an agent, which cannot approve: it gets no command and no address that approves. */
export function howToApprove(page?: string): string {
  return `A person decides ${placeOf(page)}.`;
}

/** Only the place where people decide. How they do it does not concern the agent. */
function placeOf(page: string | undefined): string {
  return page === undefined ? "in the Postern console" : `in the Postern console (${page})`;
}

function previewText(tool: string, { preview }: ToolOutcome & { readonly status: "preview" }): string {
  const diff = preview.diff === undefined ? "" : `\n${preview.diff}`;
  return readable(
    `Not run: at this autonomy level \`${tool}\` is only previewed. It would do this: ${preview.summary}${diff}`,
  );
}

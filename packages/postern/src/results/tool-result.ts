import { type Json, type RefusalCode, type Retry, refusal, type ToolOutcome } from "@postern/core";
import { describeOutcome } from "./describe-outcome.ts";

/**
 * Which part of the system an error is about.
 *
 * @public
 */
export type ErrorCategory = "governance" | "sandbox" | "tool" | "engine";

/**
 * An error for programs and people: a code, a sentence, the part of the system, and whether to try again.
 *
 * @public
 */
export interface ErrorInfo {
  /** A refusal's code; `pending` and `preview` for calls that did not run for these reasons. */
  readonly code: RefusalCode | "pending" | "preview";
  readonly message: string;
  readonly category: ErrorCategory;
  readonly retryable: boolean;
  readonly retry: Retry;
  readonly details?: Json;
}

/**
 * An artifact that the result refers to, by the SHA-256 of its bytes.
 *
 * @public
 */
export interface ResultArtifact {
  readonly artifact: string;
  readonly mediaType?: string;
  /** Its path for scripts. */
  readonly path?: string;
}

/**
 * An outcome as one small object, for loops that need nothing else.
 *
 * @public
 */
export interface ToolResult {
  /** The tool ran and succeeded. */
  readonly ok: boolean;
  /** One line of at most 480 bytes: what the result is, or why it has none. */
  readonly summary: string;
  /** The result itself when it is small, a reference (`{"$artifact": …}`) if it was kept, else null. */
  readonly data: Json;
  readonly artifacts: readonly ResultArtifact[];
  readonly error: ErrorInfo | null;
}

/** UTF-8 bytes of the largest `data`. Larger results belong into an artifact, never into a log. */
const mostDataBytes = 4096;

/**
 * An outcome, whatever its status, as one object with `ok`, a summary, small data, artifacts and an error.
 *
 * Contract: never throws; its JSON stays small whatever the tool answered.
 *
 * @example
 * const { ok, summary, artifacts } = toolResult(await runtime.invoke({ tool: "export_orders" }));
 * // true, "table, 4 columns (id, customer, total, at), 1500 rows", [{ artifact: "9f…", mediaType: … }]
 *
 * @public
 */
export function toolResult(outcome: ToolOutcome): ToolResult {
  return {
    ok: outcome.status === "ok",
    summary: describeOutcome(outcome),
    data: dataOf(outcome),
    artifacts: artifactsOf(outcome),
    error: errorOf(outcome),
  };
}

function dataOf({ status, structured, text, artifact, preview }: ToolOutcome): Json {
  if (status === "preview") return small(preview?.details);
  if (status !== "ok") return small(structured);
  if (structured !== undefined) return small(structured);
  if (artifact !== undefined || text === "") return null;
  return text.length <= mostDataBytes && Buffer.byteLength(text) <= mostDataBytes ? text : null;
}

function small(value: Json | undefined): Json {
  if (value === undefined) return null;
  try {
    return Buffer.byteLength(JSON.stringify(value)) <= mostDataBytes ? value : null;
  } catch {
    return null; // nested too deep to pass on
  }
}

/** Each artifact once: the whole result first, then media in their order. */
function artifactsOf({ artifact, files = [] }: ToolOutcome): readonly ResultArtifact[] {
  const whole = artifact === undefined ? [] : [{ artifact }];
  return [...whole, ...files.map(({ artifact: digest, mediaType, path }) => ({ artifact: digest, mediaType, path }))];
}

function errorOf({ status, refusal: given, approvalId, text }: ToolOutcome): ErrorInfo | null {
  switch (status) {
    case "ok":
      return null;
    case "preview":
      return { code: "preview", message: "Not run, only previewed.", ...governed, retryable: false, retry: "never" };
    case "pending": {
      const message = text === "" ? "Waits for a person." : text;
      const details = approvalId === undefined ? {} : { details: { approval_id: approvalId } };
      return { code: "pending", message, ...governed, retryable: true, retry: "same-key", ...details };
    }
    case "error":
    case "denied": {
      const { code, message, retry, details } = given ?? refusal("tool_failed", text);
      const more = details === undefined ? {} : { details: small(details) };
      return { code, message, category: categories[code], retryable: retry !== "never", retry, ...more };
    }
  }
  return status satisfies never;
}

const governed = { category: "governance" } as const;

const categories: Readonly<Record<RefusalCode, ErrorCategory>> = {
  budget_exhausted: "governance",
  session_closed: "governance",
  draining: "governance",
  run_foreign: "governance",
  paused: "governance",
  tool_unknown: "tool",
  tool_unavailable: "tool",
  tool_not_callable: "governance",
  arguments_invalid: "tool",
  artifact_unavailable: "tool",
  secret_in_arguments: "governance",
  permission_denied: "governance",
  scope_missing: "governance",
  blocked: "governance",
  antiflap_blocked: "governance",
  storm_blocked: "governance",
  preview_only: "governance",
  key_required: "tool",
  idempotency_conflict: "engine",
  in_progress: "engine",
  outcome_unknown: "engine",
  approval_unavailable: "governance",
  approval_timed_out: "governance",
  approval_denied: "governance",
  approval_skipped: "governance",
  approval_expired: "governance",
  approval_withdrawn: "governance",
  cancelled: "engine",
  audit_unavailable: "engine",
  store_lost: "engine",
  overloaded: "engine",
  timed_out: "tool",
  tool_failed: "tool",
  result_unavailable: "engine",
  result_withheld: "governance",
  internal: "engine",
};

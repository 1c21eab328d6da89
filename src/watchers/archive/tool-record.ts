import { type CallEvent, endWords } from "../../calls/event.ts";
import type { ToolOutcome } from "../../calls/outcome.ts";
import type { RefusalCode } from "../../calls/refusals.ts";
import { brief, type Redact } from "./bounded.ts";
import type { ToolRecord } from "./runs.ts";
import { artifactsOf, codeOfEnd, endAs, rounded } from "./spell.ts";

type Ended = Extract<CallEvent, { readonly moment: "ended" }>;

const nameBytes = 200;
const summaryBytes = 600;
const messageBytes = 400;
const mostArtifacts = 6;
const mostRules = 4;

/** One line of `logs/errors.jsonl`: ErrorInfo (SPEC 3.12), with the rules that refused (case 153). */
export interface ErrorRecord {
  readonly timestamp: string;
  readonly call_id: string;
  readonly tool_name: string;
  readonly action: string;
  readonly status: "failed" | "blocked";
  readonly code: string;
  readonly message: string;
  readonly category: "config" | "sandbox" | "skill" | "tool" | "memory" | "engine" | "governance" | "unknown";
  readonly retryable: boolean;
  readonly rules?: readonly string[];
  readonly recovered?: true;
}

/** What a result is, in one line. */
export type Summarize = (outcome: ToolOutcome) => string;

/** The fields' limits sum up to less than 4 kB, whatever anything is called (case 188). */
export function toolRecord(
  event: Ended,
  startedAt: string | undefined,
  { redact, summarize }: { readonly redact: Redact; readonly summarize: Summarize },
): ToolRecord {
  const { call, at, as, outcome, latencyMs, code } = event;
  const { record: status } = endAs(as, outcome.status, code);
  const result =
    status === "failed" || status === "blocked" ? undefined : brief(summarize(outcome), summaryBytes, redact);
  return {
    call_id: call.id,
    tool_name: brief(call.tool, nameBytes, redact),
    action: brief(call.action, nameBytes, redact),
    ...(startedAt !== undefined && { started_at: startedAt }),
    completed_at: new Date(at).toISOString(),
    duration_ms: rounded(latencyMs),
    status,
    args_summary: call.problem === undefined ? brief(call.text, summaryBytes, redact) : "(unreadable)",
    args_digest: call.digest.slice(0, 16),
    ...(result !== undefined && { result_summary: result }),
    artifacts: artifactsOf(outcome).slice(0, mostArtifacts),
    ...(result === undefined && {
      error: { code: codeOfEnd(endWords[as].audit, code), message: brief(outcome.text, messageBytes, redact) },
    }),
    ...(as === "deduped" && { replayed: true }),
  };
}

/** Of what failed or was refused; nothing of what went well. */
export function errorRecord(event: Ended, redact: Redact): ErrorRecord | undefined {
  const { call, at, as, outcome, weighing } = event;
  const code = codeOfEnd(endWords[as].audit, event.code);
  const { record: status } = endAs(as, outcome.status, event.code);
  if (status !== "failed" && status !== "blocked") return undefined;
  const rules = (weighing?.reasons ?? [])
    .filter(({ says }) => says !== "ALLOW")
    .slice(0, mostRules)
    .map(({ rule, where }) => brief(where === undefined ? rule : `${rule} (${where})`, 120, redact));
  return {
    timestamp: new Date(at).toISOString(),
    call_id: call.id,
    tool_name: brief(call.tool, nameBytes, redact),
    action: brief(call.action, nameBytes, redact),
    status,
    code,
    message: brief(outcome.text, messageBytes, redact),
    category: categories.get(code) ?? (status === "blocked" ? "governance" : "tool"),
    retryable: outcome.refusal !== undefined && outcome.refusal.retry !== "never",
    ...(rules.length > 0 && { rules }),
  };
}

const categories: ReadonlyMap<string, ErrorRecord["category"]> = new Map<RefusalCode, ErrorRecord["category"]>([
  ["internal", "engine"],
  ["audit_unavailable", "engine"],
  ["overloaded", "engine"],
  ["paused", "engine"],
  ["cancelled", "engine"],
  ["outcome_unknown", "unknown"],
  ["tool_unknown", "config"],
  ["tool_not_callable", "config"],
  ["tool_unavailable", "tool"],
  ["arguments_invalid", "tool"],
  ["result_unavailable", "tool"],
]);

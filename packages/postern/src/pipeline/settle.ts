import {
  type Clock,
  type EndName,
  isOnRecord,
  isRepeatable,
  type Json,
  type RefusalCode,
  refusal,
  refusedOutcome,
  type ToolOutcome,
} from "@postern/core";
import { commentNotes } from "../approvals/comments.ts";
import type { ApprovalRepository } from "../approvals/repository.ts";
import { type Ending, outcomeOf, refuse } from "../call/ending.ts";
import type { Caller } from "../call/session.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { noArtifacts } from "../results/own-artifacts.ts";
import type { RawResult } from "../results/raw-result.ts";
import { releasePins } from "../results/releases.ts";
import { shape } from "../results/shape.ts";
import { mostArtifactBytes } from "../results/stored-streams.ts";
import { redactJson } from "../secrets/redact-json.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import { toRawResult } from "../tools/answer.ts";
import { isCutShort, isSuspended } from "../tools/define.ts";
import { type Failure, failureOf } from "../tools/failure.ts";
import type { Ran } from "../tools/run-foreign.ts";
import type { Tools } from "../tools/tool.ts";
import type { GuardrailParts } from "./gates/guardrails.ts";
import type { ClaimedCall } from "./gates/stages.ts";
import { type Guarded, guardResult, isUnguarded, originOf, withheldText, withJudgement } from "./guard-result.ts";
import type { Ledger, Settlement } from "./ledger.ts";

export interface SettleParts extends GuardrailParts {
  readonly ledger: Ledger;
  readonly approvals: ApprovalRepository;
  readonly tools: Tools;
  readonly artifacts: ArtifactStore;
  /** Largest answer, in bytes. Default `mostAnswerBytes`. */
  readonly answerBytes?: number | undefined;
  /** Largest text that is kept as an artifact, in bytes. Default `mostArtifactBytes`. */
  readonly artifactBytes?: number | undefined;
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/**
 * Outcome and terminal event in one write, by the fence that claimed. Never throws: after the claim there are only
 * outcomes.
 * If it cannot be written, the row stays attempted, and recovery makes it unknown.
 */
export async function settle(
  call: ClaimedCall,
  ran: Ran<unknown>,
  caller: Caller,
  parts: SettleParts,
): Promise<ToolOutcome | Ending> {
  const concluded = await conclude(call, ran, caller, parts).catch((fault: unknown) =>
    settleAfterBug(call, fault, parts),
  );
  const end = call.notes === undefined ? concluded : withNotes(concluded, call.notes);
  const result = await parts.ledger.settle(call, call.claimed, end, parts.clock.monotonic() - call.claimedAt);
  const { session } = caller;
  if (session.closed && session.hasPins) await releasePins(session, parts.artifacts, parts.log); // the session ended while the tool ran
  if (result === "written") return end.outcome;
  if (result === "never_claimed")
    return refuse(
      "audit_unavailable",
      "Nothing can be recorded now. The tool ran, without any effect; its answer is withheld.",
    );
  return outcomeOf(
    call.id,
    refuse(
      "outcome_unknown",
      "The tool ran, but its outcome could not be recorded; it may have happened. Check before you repeat it.",
    ),
  );
}

function withNotes(end: Settlement, notes: readonly string[]): Settlement {
  return { ...end, outcome: { ...end.outcome, notes: [...notes, ...(end.outcome.notes ?? [])] } };
}

async function conclude(call: ClaimedCall, ran: Ran<unknown>, caller: Caller, parts: SettleParts): Promise<Settlement> {
  switch (ran.ran) {
    case "returned":
      return settleReturned(call, ran.value, caller, parts);
    case "threw":
      return settleThrown(call, ran.error, parts);
    case "timed_out": {
      parts.tools.report(call.found, { well: false, error: "timed out" });
      const end = settleInterrupted(call, "timed_out", `\`${call.tool}\` timed out.`);
      return { ...end, outcome: { ...end.outcome, timedOut: true } };
    }
    case "stopped":
      return settleInterrupted(call, "timed_out", `\`${call.tool}\` was still running when Postern stopped.`);
    case "cancelled":
      return settleInterrupted(call, "cancelled", `The caller cancelled \`${call.tool}\` while it ran.`);
  }
}

async function settleReturned(
  call: ClaimedCall,
  value: unknown,
  caller: Caller,
  parts: SettleParts,
): Promise<Settlement> {
  if (isSuspended(value)) {
    const { suspended: image, approvalId, waitsFor, files = [] } = value;
    const what = waitsFor === undefined ? "" : ` of ${waitsFor}`;
    const text = `\`${call.tool}\` waits for a person's approval${what} (${approvalId}). Send the same call again later.`;
    const expiresAt = value.expiresAt ?? call.claimed.aliveUntil ?? call.arrivedAt;
    const approval = await parts.approvals.get(approvalId);
    const notes = approval === undefined ? [] : commentNotes(approval);
    const pending = outcomeOf(call.id, { ending: "pending", approvalId, expiresAt, asked: true, text, notes });
    return {
      state: "suspended",
      as: "suspended",
      image,
      aliveUntil: value.expiresAt,
      retryable: false,
      outcome: { ...pending, ...(files.length > 0 && { files }) },
    };
  }
  const raw = toRawResult(value, parts.answerBytes, textBytesOf(parts));
  const end = await guardAndShape(call, raw, caller, parts);
  return isOnRecord(call) && isCutShort(value) ? interruptedSettlement(call, end) : end;
}

/** Text goes into the artifact store unchanged; without an artifact store it stays in the outcome. */
function textBytesOf({ artifacts, answerBytes, artifactBytes = mostArtifactBytes }: SettleParts): number | undefined {
  return artifacts === noArtifacts ? answerBytes : artifactBytes;
}

/** A script that was frozen stays suspended; else the call is treated like one whose process has died (recovery.ts). */
function interruptedSettlement(call: ClaimedCall, end: Settlement): Settlement {
  const { image } = call.claimed;
  if (image !== undefined) return { ...end, state: "suspended", as: "suspended", image };
  return { ...end, state: "unknown", as: "unknown", retryable: true };
}

/** A result that is withheld is not kept. A failure stays a failure, without its text. */
async function guardAndShape(
  call: ClaimedCall,
  raw: RawResult,
  caller: Caller,
  parts: SettleParts,
): Promise<Settlement> {
  if (raw.unusable === true || isUnguarded(call, raw, call.artifacts, parts))
    return shapeAnswer(call, raw, { caller, judgementOf: () => originOf(call) }, parts);
  const guarded = await guardResult(call, raw, call.artifacts, parts);
  const { withheld, judgementOf } = guarded;
  if (withheld === undefined)
    return judgedSettlement(await shapeAnswer(call, raw, { caller, judgementOf }, parts), guarded);
  if (raw.isError)
    return failedSettlement(call, { message: withheldText(withheld), retryable: raw.retryable === true }, parts);
  parts.tools.report(call.found, wentWell);
  const outcome = refusedAs(call, "result_withheld", `\`${call.tool}\` ran, but ${withheldText(withheld)}`);
  return { state: "ok", as: "succeeded", retryable: false, outcome };
}

function judgedSettlement(end: Settlement, guarded: Guarded): Settlement {
  return { ...end, outcome: withJudgement(end.outcome, guarded) };
}

async function shapeAnswer(
  call: ClaimedCall,
  raw: RawResult,
  { caller: { session }, judgementOf }: { readonly caller: Caller } & Pick<Guarded, "judgementOf">,
  parts: SettleParts,
): Promise<Settlement> {
  const order = {
    judgementOf,
    callId: call.id,
    limitBytes: session.limits.maxInlineResultBytes,
    owner: call.authority.principal,
    session,
    tool: call.tool,
  };
  return settleAnswer(call, raw, await shape(raw, order, parts), parts);
}

function settleAnswer(call: ClaimedCall, raw: RawResult, outcome: ToolOutcome, parts: SettleParts): Settlement {
  if (raw.unusable === true) {
    // The tool had its effect; only its answer is lost.
    parts.tools.report(call.found, { well: false, error: outcome.text });
    return {
      state: "ok",
      as: "succeeded",
      retryable: false,
      outcome: refusedAs(call, "result_unavailable", outcome.text),
    };
  }
  if (raw.isError) {
    parts.tools.report(call.found, { well: false, error: outcome.text });
    return { state: "failed", as: "failed", outcome, retryable: raw.retryable === true };
  }
  parts.tools.report(call.found, wentWell);
  return { state: "ok", as: "succeeded", outcome, retryable: false }; // also if the result could not be kept: the tool had its effect
}

const wentWell = { well: true } as const;

/** The error text of a tool is untrusted too, so guardrails check it. */
async function settleThrown(call: ClaimedCall, error: unknown, parts: SettleParts): Promise<Settlement> {
  const failure = failureOf(error);
  const { message: text, details: structured } = failure;
  const raw: RawResult = { content: [{ type: "text", text }], isError: true, ...(structured && { structured }) };
  if (isUnguarded(call, raw, call.artifacts, parts)) return failedSettlement(call, error, parts);
  const guarded = await guardResult(call, raw, call.artifacts, parts);
  const { withheld } = guarded;
  if (withheld === undefined) return judgedSettlement(failedSettlement(call, error, parts), guarded);
  return failedSettlement(call, { ...failure, message: withheldText(withheld), details: undefined }, parts);
}

function failedSettlement(call: ClaimedCall, error: unknown, parts: SettleParts): Settlement {
  const failure = failureOf(error);
  const message = parts.redactor.redact(failure.message);
  if (failure.needsSignIn !== true)
    parts.tools.report(call.found, {
      well: false,
      error: message,
      ...(failure.rateLimitResetsAt !== undefined && { rateLimitResetsAt: failure.rateLimitResetsAt }),
    });
  const details = failure.details && redactJson(failure.details, parts.redactor);
  if (failure.notExecuted) return settleNotExecuted(call, { ...failure, message }, details);
  if (failure.unknown && !isHarmless(call)) {
    const text = `The outcome of \`${call.tool}\` is unknown: ${message}. ${adviceFor(call)}`;
    return unknownSettlement(call, refusedAs(call, "outcome_unknown", text));
  }
  const failed = refusal("tool_failed", `\`${call.tool}\` failed: ${message}`, details);
  const retry = failure.retryable ? "later" : failure.unknown ? "same-key" : failed.retry;
  return {
    state: "failed",
    as: "failed",
    retryable: failure.retryable || failure.unknown,
    outcome: refusedOutcome(call.id, "error", { ...failed, retry }),
  };
}

/** The tool provably did not run: the same call may be sent again, with the approval it had. */
function settleNotExecuted(
  call: ClaimedCall,
  { message, needsSignIn }: Pick<Failure, "message" | "needsSignIn">,
  details: Json | undefined,
): Settlement {
  const { approvalId, tool } = call;
  const kept = approvalId === undefined ? "" : ` Its approval \`${approvalId}\` is not used up.`;
  const failed = refusal(
    needsSignIn === true ? "tool_unavailable" : "tool_failed",
    `\`${tool}\` was not run: ${message.replace(/\.$/, "")}.${kept} Try again later.`,
    details,
  );
  const outcome = refusedOutcome(call.id, "error", { ...failed, retry: "later" });
  return { state: "failed", as: "failed", retryable: true, notExecuted: true, outcome };
}

/** A bug in Postern after the tool has run: the effect may have happened. */
function settleAfterBug(call: ClaimedCall, fault: unknown, parts: SettleParts): Settlement {
  return failedSettlement(call, isHarmless(call) ? fault : { message: failureOf(fault).message, unknown: true }, parts);
}

/** A call that only reads, or is idempotent, fails when it is cut short; any other call may have happened. */
function settleInterrupted(call: ClaimedCall, code: "timed_out" | "cancelled", message: string): Settlement {
  if (isHarmless(call)) {
    const as: EndName = code === "cancelled" ? "cancelled" : "failed";
    return { state: "failed", as, retryable: true, outcome: refusedAs(call, code, message) };
  }
  const endCode: RefusalCode = code === "cancelled" ? "cancelled" : "outcome_unknown"; // the caller gets its own cancellation thrown
  return unknownSettlement(call, refusedAs(call, endCode, `${message} ${adviceFor(call)}`));
}

function unknownSettlement(call: ClaimedCall, outcome: ToolOutcome): Settlement {
  const retryable = isOnRecord(call);
  return { state: "unknown", as: "unknown", retryable, image: retryable ? call.claimed.image : undefined, outcome };
}

function adviceFor(call: ClaimedCall): string {
  return isOnRecord(call)
    ? "Its calls are recorded: send the same call again; it continues from there and repeats nothing."
    : "It may have happened; check before you repeat it.";
}

function isHarmless(call: ClaimedCall): boolean {
  return isRepeatable(call, call.found);
}

function refusedAs(call: ClaimedCall, code: RefusalCode, message: string): ToolOutcome {
  return outcomeOf(call.id, refuse(code, message));
}

/** Explains what would be decided about a call, and what was decided about a recorded one. It counts, writes and runs nothing. */

import {
  type ApprovalRecord,
  type CallRecord,
  type JsonObject,
  momentNames,
  type Reason,
  type Refusal,
  refusal,
  type ToolCall,
} from "@postern/core";
import { digestOf } from "@postern/core/system";
import { grantReason, silentReason } from "../approvals/grants.ts";
import type { AuditLog } from "../audit/log.ts";
import { arrivalOf, readArguments } from "../call/arrival.ts";
import { isEnding } from "../call/ending.ts";
import { approvedFor } from "../call/ran-with.ts";
import type { Decision, ToolFacts } from "../policy/policy.ts";
import type { Parts } from "./dependencies.ts";
import { grantFor } from "./gates/approval.ts";
import { uncountedCall } from "./gates/budget.ts";
import { recordOf, replay } from "./gates/once.ts";
import { mayAsk } from "./gates/run.ts";
import type { WeighedCall } from "./gates/stages.ts";
import { readTexts } from "./gates/text-arguments.ts";
import { assess } from "./invoke.ts";

/** What would be decided and every rule that took part, or why the call does not get that far. */
export type Explanation = (
  | {
      readonly reached: "verdict";
      readonly decision: Decision;
      /** The reasons that count: the policy's, and the grant that answers. The other reasons say why people or grants do not count. */
      readonly counting: readonly Reason[];
      readonly facts: ToolFacts;
      readonly summary?: string;
      /** Whether a person would be asked, or is being asked. False when a grant or an earlier decision or end of the same call answers. */
      readonly waits: boolean;
    }
  | { readonly reached: "refused"; readonly refusal: Refusal; readonly decision?: Decision }
) & {
  /** Only for a recorded call. */
  readonly recorded?: RecordedVerdict;
};

/**
 * The recorded part of a call that was explained by its id.
 *
 * @public
 */
export interface RecordedVerdict {
  /** A person changed its arguments, and those that run are explained. SHA-256 over the canonical arguments, as sent and as they run. */
  readonly edited?: { readonly asked: string; readonly runs: string };
  /** The decision when it began or, if it never began, when a person was asked. */
  readonly weighed?: {
    /** Wall clock, milliseconds. */
    readonly at: number;
    readonly verdict: string;
    readonly risk: string;
    readonly reasons: readonly { readonly rule: string; readonly effect: string; readonly where?: string }[];
    readonly policyVersion: string;
    /** The grant that answered for a person. */
    readonly grant?: string;
  };
}

/**
 * What would be decided and every rule that took part. Counts nothing, writes nothing, runs nothing.
 *
 * @param sessionId the session whose grants count; without it, grants for a session are only named
 */
export async function explain(call: ToolCall, parts: Parts, sessionId?: string): Promise<Explanation> {
  const asked = uncountedCall(await readTexts(call, parts));
  const weighed = (await mayAsk(asked, parts)) ?? (await assess(asked, parts));
  if (!isEnding(weighed)) {
    const { weighing, found, suggestion, verdict } = weighed;
    const { grant, silent } =
      verdict === "CONFIRM"
        ? await grantFor(weighed, sessionId === undefined ? undefined : { id: sessionId }, parts)
        : { silent: [] };
    const counting = grant === undefined ? weighing.reasons : [...weighing.reasons, grantReason(grant)];
    return {
      reached: "verdict",
      decision: {
        ...weighing,
        reasons: [...counting, ...silent.map(silentReason)],
        ...(grant !== undefined && { grant: grant.id }),
      },
      counting,
      facts: found.facts,
      waits: verdict === "CONFIRM" && grant === undefined && !(await isAnswered(weighed, parts)),
      ...(suggestion?.summary !== undefined && { summary: suggestion.summary }),
    };
  }
  const decision = weighed.weighing as Decision | undefined; // only the verdict gate refuses with a decision
  const refused = weighed.ending === "refused" ? weighed.refusal : refusal("internal");
  return { reached: "refused", refusal: refused, ...(decision !== undefined && { decision }) };
}

/** Whether the call's record answers it, or has an approval that is not used yet. */
async function isAnswered(call: WeighedCall, parts: Parts): Promise<boolean> {
  const record = await recordOf(call, parts.ledger);
  if (record === undefined) return false;
  if (record.state === "suspended" || (await replay(record, parts)) !== undefined) return true;
  const approval = record.approvalId === undefined ? undefined : await parts.approvals.get(record.approvalId);
  return approval?.state === "approved";
}

/** What would be decided today about a recorded call, with the arguments that run. */
export async function explainRecorded(
  record: CallRecord,
  parts: Parts,
  audit: Pick<AuditLog, "query">,
): Promise<Explanation> {
  const { key, call, approvalId } = record;
  const approval = approvalId === undefined ? undefined : await parts.approvals.get(approvalId);
  // Under its own key, so that the call is not part of its own past.
  const given = approval && approvedFor(record, approval);
  const itself = arrivalOf({ ...call, ...(given !== undefined && readArguments(given)), resumes: key });
  const { startedAt } = record;
  const weighed =
    startedAt === undefined ? approval && decisionInApproval(approval) : await decisionInLog(record, startedAt, audit);
  const grant = weighed?.grant === undefined ? undefined : parts.grants.get(weighed.grant);
  const explained = await explain(itself, parts, grant?.sessionId ?? approval?.sessionId);
  const edited = given && editIn(call, given);
  return {
    ...explained,
    recorded: {
      ...(edited !== undefined && { edited }),
      ...(weighed !== undefined && { weighed }),
    },
  };
}

type RecordedDecision = NonNullable<RecordedVerdict["weighed"]>;

function decisionInApproval({ requestedAt: at, risk, why: reasons, policyVersion }: ApprovalRecord): RecordedDecision {
  return { at, verdict: "CONFIRM", risk, reasons, policyVersion };
}

/** The decision in the log. Returns undefined when the log is not kept or cannot be read; the explanation does without it. */
async function decisionInLog(
  { key, call }: CallRecord,
  at: number,
  audit: Pick<AuditLog, "query">,
): Promise<RecordedDecision | undefined> {
  const where = { since: at, until: at, callId: [key, call.id], tenant: call.authority.principal.tenant };
  const [event] = await audit.query({ ...where, type: momentNames.attempted.audit }).catch(() => []);
  if (event === undefined) return undefined;
  const { verdict = "", risk_level: risk = "", reasons = [], policy_version: policyVersion = "", refs } = event;
  return { at, verdict, risk, reasons, policyVersion, ...(refs.grant !== undefined && { grant: refs.grant }) };
}

function editIn({ digest: asked }: ToolCall, given: JsonObject): RecordedVerdict["edited"] {
  const runs = digestOf(given);
  return asked === runs ? undefined : { asked, runs };
}

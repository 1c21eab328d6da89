import {
  type CallRecord,
  type Clock,
  isRecord,
  RuntimeFault,
  refusal,
  refusedOutcome,
  type ToolOutcome,
} from "@postern/core";
import { isEnding } from "../call/ending.ts";
import type { Session } from "../call/session.ts";
import type { ArtifactStore } from "../results/artifact-store.ts";
import { shape } from "../results/shape.ts";
import { lend } from "../secrets/lend.ts";
import type { Redactor, SecretStore } from "../secrets/secret-store.ts";
import { toRawResult } from "../tools/answer.ts";
import { failureOf } from "../tools/failure.ts";
import { runForeign } from "../tools/run-foreign.ts";
import type { ToolContext } from "../tools/tool.ts";
import { artifactsFor } from "./context.ts";
import { checkArguments } from "./gates/arguments.ts";
import { uncountedCall } from "./gates/budget.ts";
import type { GuardrailParts } from "./gates/guardrails.ts";
import { type LookupParts, lookup } from "./gates/lookup.ts";
import type { ValidCall } from "./gates/stages.ts";
import { guardResult, withheldText, withJudgement } from "./guard-result.ts";
import { inputOf } from "./input.ts";
import { readOnlyContext } from "./read-only-context.ts";
import { UsedArtifacts } from "./result-bytes.ts";
import type { Workers } from "./workers.ts";

export interface ReconcileParts extends LookupParts, GuardrailParts {
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  readonly secrets: SecretStore;
  readonly clock: Clock;
  /** Largest answer, in bytes. Default `mostAnswerBytes`. */
  readonly answerBytes?: number | undefined;
  /** Present if some tools run in other processes. */
  readonly workers?: Workers | undefined;
}

/** What the tool found. `outcome` is what later senders of the same call get. */
export type FoundOutcome =
  | { readonly found: "succeeded"; readonly outcome: ToolOutcome | undefined }
  | { readonly found: "failed"; readonly reason: string | undefined }
  | { readonly found: "unknown"; readonly problem: string | undefined };

const reconcileTimeoutMs = 60_000;

/**
 * Asks the tool how an `unknown` call ended, or reads what its worker answered. The hook has the call's key and the tool's secrets; it makes no calls.
 * Never throws: if the hook fails, the call stays unknown, with the reason.
 *
 * @param session records the artifacts of the answer, and limits its inline size
 */
export async function askTool(record: CallRecord, session: Session, parts: ReconcileParts): Promise<FoundOutcome> {
  const { tool, action } = record.call;
  const isElsewhere = parts.workers?.groupOf({ tool, name: action }) !== undefined;
  const found = lookup(uncountedCall(record.call), isElsewhere ? withAnyHealth(parts) : parts);
  if (isEnding(found)) return unknown(`\`${record.call.tool}\` cannot be asked now`);
  const hook = isElsewhere ? () => parts.workers?.endOf(record) : found.found.reconcile;
  if (hook === undefined) return unknown(`\`${record.call.tool}\` has no reconcile hook; settle the call by hand`);
  const valid = await checkArguments(found, parts);
  if (isEnding(valid)) return unknown("its arguments do not fit the tool's schema any more");
  const used = new UsedArtifacts();
  const loan = lend(parts.secrets, parts.redactor);
  const body = async (lazy: { readonly signal: AbortSignal }): Promise<unknown> =>
    hook(
      await inputOf(valid, parts.artifacts),
      Object.assign(contextOf(record, lazy, loan), {
        artifacts: artifactsFor({ ...record.call, opened: used.opened }, session.limits.maxInlineResultBytes, parts),
      }),
    );
  const ran = await runForeign<unknown>(body, { limitMs: reconcileTimeoutMs, clock: parts.clock });
  loan.end();
  if (ran.ran === "threw") return unknown(parts.redactor.redact(failureOf(ran.error).message));
  if (ran.ran !== "returned") return unknown("its reconcile hook timed out");
  const { value } = ran;
  if (!isRecord(value)) return unknown("its reconcile hook returned no object");
  const { found: what, reason, answer } = value;
  if (what === "failed") return { found: what, reason: typeof reason === "string" ? reason : undefined };
  if (what !== "succeeded")
    return unknown(what === "unknown" ? undefined : "its reconcile hook returned an unknown value of `found`");
  return {
    found: what,
    outcome: answer === undefined ? undefined : await shapeAnswer(valid, { answer, used }, session, parts),
  };
}

/** The answer of a worker is there, also if no worker is. */
function withAnyHealth(parts: ReconcileParts): ReconcileParts {
  return { ...parts, tools: { ...parts.tools, unavailable: () => undefined } };
}

function unknown(problem: string | undefined): FoundOutcome {
  return { found: "unknown", problem };
}

/** Guarded, redacted and shaped as if the call had returned it. */
async function shapeAnswer(
  call: ValidCall,
  { answer, used }: { readonly answer: unknown; readonly used: UsedArtifacts },
  session: Session,
  parts: ReconcileParts,
): Promise<ToolOutcome> {
  const { id: callId, tool, authority } = call;
  const raw = toRawResult(answer, parts.answerBytes);
  const order = { callId, limitBytes: session.limits.maxInlineResultBytes, owner: authority.principal, session, tool };
  if (raw.unusable === true)
    return refusedOutcome(callId, "error", refusal("result_unavailable", (await shape(raw, order, parts)).text));
  const guarded = await guardResult(call, raw, used, parts);
  const { withheld, judgementOf } = guarded;
  if (withheld !== undefined) {
    const message = `\`${tool}\` ran, but ${withheldText(withheld)}`;
    return refusedOutcome(callId, "error", refusal("result_withheld", message));
  }
  return withJudgement(await shape(raw, { ...order, judgementOf }, parts), guarded);
}

function contextOf(
  { call, key }: CallRecord,
  lazy: { readonly signal: AbortSignal },
  secrets: SecretStore,
): Omit<ToolContext, "artifacts"> {
  return Object.assign(readOnlyContext(call, key, lazy), {
    secrets,
    frozen: undefined,
    approvalId: undefined,
    afterSession() {},
    check(): void {
      lazy.signal.throwIfAborted();
    },
    async call(): Promise<never> {
      throw new RuntimeFault("internal", "A reconcile hook may not make calls.");
    },
  });
}

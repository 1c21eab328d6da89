import {
  type Clock,
  copyOf,
  type JsonObject,
  lowerAutonomy,
  type Reason,
  shortened,
  type ToolCall,
  verdicts,
} from "@postern/core";
import { type Ending, refuse } from "../../call/ending.ts";
import type { Controls } from "../../policy/controls.ts";
import type { CurrentPolicy, PolicySet } from "../../policy/current-policy.ts";
import type { ActiveSkills, Decision, Facts, Histories, Suggestion } from "../../policy/policy.ts";
import { reasonsText } from "../../policy/rules/why.ts";
import { redactJson } from "../../secrets/redact-json.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { isSmall } from "../../tools/schema/plain.ts";
import type { Action, JudgedCall } from "../../tools/tool.ts";
import type { Ledger, Past } from "../ledger.ts";
import { keyOf } from "./call-names.ts";
import type { ResolvedArguments } from "./references.ts";
import type { ValidCall, WeighedCall } from "./stages.ts";

export interface VerdictParts {
  readonly policy: CurrentPolicy;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly redactor: Redactor;
  readonly controls: Pick<Controls, "state">;
  /** The active skills of a run; left out without skills. */
  readonly skills?: { activeFor(tenant: string, runId: string, agent?: string): ActiveSkills | undefined } | undefined;
}

/** Longest summary of a tool's own risk check, in characters. */
const mostSummaryLength = 2_000;

const strictness: readonly Decision["verdict"][] = [...verdicts, "DENY"];

/** Used if no rule looks back. */
const noHistory: Histories = {};

/**
 * Permission, risk and verdict in one step: `policy.decide` decides, this gate enforces it. Nothing waits after the past
 * was read, so the verdict fits that past.
 */
export async function weigh(call: ValidCall, judgedBy: PolicySet, parts: VerdictParts): Promise<WeighedCall | Ending> {
  const { ledger } = parts;
  const { policy } = judgedBy;
  const reads = policy.readsFor === undefined ? policy.reads : policy.readsFor(call.found.facts);
  const { history } = ledger;
  const past = reads === undefined ? undefined : await history?.of(call.authority, reads);
  return weighFacts(call, { past, judgedBy }, parts);
}

function weighFacts(
  call: ValidCall,
  { past, judgedBy }: { readonly past: Past | undefined; readonly judgedBy: PolicySet },
  parts: VerdictParts,
): WeighedCall | Ending {
  const { policy } = judgedBy;
  const { authority, found } = call;
  const given = call.resolved?.arguments ?? call.arguments;
  const suggestion = suggestionOf(found, given, parts.redactor, call);
  const level = parts.controls.state.autonomy;
  const facts: Facts = {
    tool: found.facts,
    principal: authority.principal,
    scopes: authority.scopes,
    autonomy: lowerAutonomy(authority.autonomy, level),
    maxRiskUnapproved: authority.maxRiskUnapproved,
    suggestion,
    arguments: given,
    unread: call.resolved && unreadOf(call, call.resolved),
    history: past?.histories ?? noHistory,
    key: past === undefined ? undefined : keyOf(call),
    skills: parts.skills?.activeFor(authority.principal.tenant, authority.runId, authority.principal.agent),
    now: parts.clock.now(),
    findings: call.findings,
  };
  let weighing = policy.decide(facts);
  // A call that was held without an autonomy level is also judged without one, and the stricter verdict counts.
  if (call.resumes !== undefined && authority.autonomy === undefined && level !== undefined)
    weighing = stricterOf(weighing, policy.decide({ ...facts, autonomy: undefined }));
  const refused = refusalOf(call, weighing, facts, parts);
  if (refused !== undefined) return { ...refused, weighing };
  const { verdict, risk } = weighing;
  return { ...call, verdict, risk, weighing, suggestion, past, judgedBy } as WeighedCall;
}

/** The artifacts that were too large to read, and whether a guardrail or the tool would have read them. */
function unreadOf({ found, findings }: ValidCall, { artifacts }: ResolvedArguments): Facts["unread"] {
  const unread = artifacts.filter(({ text }) => text === undefined);
  if (unread.length === 0) return undefined;
  const what = unread.map(({ path, bytes }) => `\`${path}\` (${bytes} bytes)`);
  return { what, wouldBeRead: found.classifyRisk !== undefined || findings !== undefined };
}

function stricterOf(one: Decision, other: Decision): Decision {
  return strictness.indexOf(one.verdict) >= strictness.indexOf(other.verdict) ? one : other;
}

function refusalOf(call: ValidCall, decision: Decision, facts: Facts, { redactor }: VerdictParts): Ending | undefined {
  const { tool } = call;
  const because = (reasons: readonly Reason[]): string => redactor.redact(reasonsText(reasons, facts));
  if (decision.missingScope !== undefined) {
    const granted = call.authority.scopes.map((scope) => `\`${scope}\``).join(", ") || "none";
    return refuse(
      "scope_missing",
      `Tool \`${tool}\` needs scope \`${decision.missingScope}\`; this agent has ${granted}.`,
      rulesOf(decision),
    );
  }
  if (decision.verdict === "DENY")
    return refuse(
      "permission_denied",
      `The policy does not allow \`${tool}\`: ${because(decision.reasons)}.`,
      rulesOf(decision),
    );
  if (decision.verdict === "BLOCK") {
    if (decision.blockedBy !== undefined)
      return refuse(
        `${decision.blockedBy}_blocked`,
        `\`${tool}\` is not run now: ${because(decision.reasons.filter(({ effect }) => effect === "BLOCK"))}. Try again later; no approval lifts that.`,
        rulesOf(decision),
      );
    return refuse(
      "blocked",
      `\`${tool}\` is blocked at risk ${decision.risk}: ${because(decision.reasons)}. No approval can lift that.`,
      rulesOf(decision),
    );
  }
  return undefined;
}

function rulesOf(decision: Decision): { readonly risk: string; readonly rules: readonly string[] } {
  return { risk: decision.risk, rules: decision.reasons.map(({ rule }) => rule) };
}

/** The tool's own judgement of these arguments. If the check throws, the risk stays as it is. */
export function suggestionOf(
  found: Pick<Action, "classifyRisk">,
  given: JsonObject,
  redactor: Redactor,
  call?: Pick<ToolCall, "id" | "authority">,
): Suggestion | undefined {
  if (found.classifyRisk === undefined) return undefined;
  try {
    const suggested = found.classifyRisk(copyOf(given), call && judgedCall(call));
    if (typeof suggested === "string") return { risk: suggested };
    if (!isSmall(suggested))
      return { risk: "critical", summary: "The result of the tool's own risk check is too large." };
    return wellFormedSuggestion(redactJson(suggested, redactor));
  } catch {
    return { risk: "critical", summary: "The tool's own risk check failed." };
  }
}

function judgedCall({ id: callId, authority }: Pick<ToolCall, "id" | "authority">): JudgedCall {
  return { callId, runId: authority.runId, principal: { ...authority.principal } };
}

/** Cuts the summary, which people read, but not the target and recipients, which rules judge. All text is well-formed. */
function wellFormedSuggestion(suggestion: Suggestion): Suggestion {
  const { summary, target, recipients } = suggestion;
  return {
    ...suggestion,
    ...(typeof summary === "string" && { summary: shortened(summary, mostSummaryLength) }),
    ...(typeof target === "string" && { target: target.toWellFormed() }),
    ...(Array.isArray(recipients) && {
      recipients: recipients.map((one) => (typeof one === "string" ? one.toWellFormed() : one)),
    }),
  };
}

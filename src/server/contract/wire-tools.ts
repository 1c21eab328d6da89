/** The other half of wire.ts: tools, and what policy says of a call. */
import { given } from "../../core/given.ts";
import type { Decision } from "../../policy/policy.ts";
import type { Explanation } from "../../runtime/api.ts";
import type { ToolBlock } from "../../tools/registered.ts";
import type { Offer, ToolHealth, ToolUi } from "../../tools/tool.ts";
import {
  type DecisionView as DecisionWire,
  explanation as explanationSchema,
  type ExplanationView as ShownExplanation,
} from "./policy.ts";
import { type Input, shape } from "./route.ts";
import type { tool as toolSchema } from "./tools.ts";

type ToolViewInput = Input<typeof toolSchema>;

export function toolToWire(
  { name, facts, ...offer }: Offer,
  now: {
    readonly health?: ToolHealth | undefined;
    readonly unavailable?: string | undefined;
    readonly blocked?: ToolBlock["why"] | undefined;
  } = {},
): ToolViewInput {
  return {
    ...offer,
    ...facts,
    action: name,
    tool_type: offer.toolType,
    input_schema: offer.inputSchema,
    output_schema: offer.outputSchema,
    ui: offer.ui && uiToWire(offer.ui),
    provider_specs: offer.providerSpecs,
    call_types: offer.callTypes,
    risk_source: facts.riskSource,
    guess: facts.guess && { ...facts.guess, open_world: facts.guess.openWorld },
    open_world: facts.openWorld === true,
    require_idempotency_key: offer.requireIdempotencyKey,
    concurrency_safe: offer.concurrencySafe,
    timeout_ms: offer.timeoutMs,
    approval_ttl_ms: offer.approvalTtlMs,
    unavailable: now.unavailable,
    blocked: now.blocked,
    health: now.health && healthToWire(now.health),
  };
}

function uiToWire({ resourceUri, csp, permissions, prefersBorder }: ToolUi): ToolViewInput["ui"] {
  return { resource_uri: resourceUri, csp, permissions, prefers_border: prefersBorder };
}

function healthToWire(health: ToolHealth): ToolViewInput["health"] {
  return {
    status: health.status,
    consecutive_errors: health.consecutiveErrors,
    last_success_at: health.lastSuccessAt,
    last_error: health.lastError,
    rate_limit_resets_at: health.rateLimitResetsAt,
  };
}

/** As a client reads it. */
export function shownExplanation(explanation: Explanation, tellsPeople?: boolean): ShownExplanation {
  return shape(explanationSchema, explanationToWire(explanation, tellsPeople));
}

/** @param tellsPeople also what people remembered and why it counts no more: nothing for an agent, which is told the verdict */
export function explanationToWire(explanation: Explanation, tellsPeople = true): Input<typeof explanationSchema> {
  const { edited, weighed } = explanation.recorded ?? {};
  const recorded = explanation.recorded && {
    edited: edited && { asked_digest: edited.asked, digest: edited.runs },
    weighed: weighed && { ...weighed, policy_version: weighed.policyVersion, grant_id: weighed.grant },
  };
  if (explanation.reached === "refused") {
    const { refusal, decision } = explanation;
    return { reached: "refused", recorded, refusal, decision: decision && decisionToWire(decision) };
  }
  const { decision, counting, facts, summary } = explanation;
  return {
    reached: "verdict",
    recorded,
    decision: decisionToWire(tellsPeople ? decision : { ...decision, reasons: counting }),
    facts: { ...facts, risk_source: facts.riskSource },
    summary,
  };
}

export type { DecisionWire };

export function decisionToWire(decision: Decision): DecisionWire {
  const { policyVersion, missingScope, grant } = decision;
  return { ...decision, policy_version: policyVersion, ...given({ missing_scope: missingScope, grant_id: grant }) };
}

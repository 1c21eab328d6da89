/** The other half of wire.ts: tools, what policy says of a call, the operator's switches, health. */
import type { Autonomy } from "../calls/call.ts";
import type { Reason } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";
import type { Refusal } from "../calls/refusals.ts";
import type { Explanation, Health, Recorded } from "../face.ts";
import type { ControlChange, ControlState } from "../policy/controls.ts";
import type { Decision, RiskGuess, ToolFacts } from "../policy/policy.ts";
import type { Block } from "../tools/registered.ts";
import type { Offer, ToolHealth, ToolUi } from "../tools/tool.ts";
import { iso, isoOrNothing } from "./wire.ts";

export interface ToolHealthWire {
  readonly status: ToolHealth["status"];
  readonly consecutive_errors: number;
  readonly last_success_at?: string | undefined;
  readonly last_error?: string | undefined;
  readonly rate_limit_resets_at?: string | undefined;
}

/** One action of a tool. `unavailable` says why it cannot be called now. */
export interface ToolWire {
  readonly tool: string;
  readonly action: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly server?: string | undefined;
  readonly kind: Offer["kind"];
  readonly tool_type: Offer["toolType"];
  readonly input_schema: JsonObject;
  readonly output_schema?: JsonObject | undefined;
  /** As MCP spells them; so are `icons` and `meta`. */
  readonly annotations: Offer["annotations"];
  readonly icons?: Offer["icons"] | undefined;
  readonly meta?: Offer["meta"] | undefined;
  /** The page that MCP clients show for it. */
  readonly ui?: UiWire | undefined;
  /** What each provider is sent for a hosted or provider-defined tool, verbatim. */
  readonly provider_specs?: JsonObject | undefined;
  /** The types under which its provider's calls arrive. */
  readonly call_types?: readonly string[] | undefined;
  readonly risk: ToolFacts["risk"];
  readonly risk_source: ToolFacts["riskSource"];
  /** What was guessed where nobody has stated the risk. */
  readonly guess?: GuessWire | undefined;
  readonly effects: ToolFacts["effects"];
  readonly open_world: boolean;
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
  readonly idempotent: boolean;
  readonly require_idempotency_key: boolean;
  readonly previews: boolean;
  readonly suspends: boolean;
  readonly detached: boolean;
  /** It may run beside other calls of the same turn. */
  readonly concurrency_safe: boolean;
  readonly timeout_ms?: number | undefined;
  readonly approval_ttl_ms?: number | undefined;
  readonly definition: string;
  readonly unavailable?: string | undefined;
  /** Until an operator has approved its definition (D22). */
  readonly blocked?: Block["why"] | undefined;
  readonly health?: ToolHealthWire | undefined;
}

export function toolToWire(
  action: Offer,
  now: {
    readonly health?: ToolHealth | undefined;
    readonly unavailable?: string | undefined;
    readonly blocked?: Block["why"] | undefined;
  } = {},
): ToolWire {
  const { facts } = action;
  return {
    tool: action.tool,
    action: action.name,
    title: action.title,
    description: action.description,
    server: facts.server,
    kind: action.kind,
    tool_type: action.toolType,
    input_schema: action.inputSchema,
    output_schema: action.outputSchema,
    annotations: action.annotations,
    icons: action.icons,
    meta: action.meta,
    ui: action.ui && uiToWire(action.ui),
    provider_specs: action.providerSpecs,
    call_types: action.callTypes,
    risk: facts.risk,
    risk_source: facts.riskSource,
    guess: facts.guess && guessToWire(facts.guess),
    effects: facts.effects,
    open_world: facts.openWorld === true,
    scopes: facts.scopes,
    permissions: facts.permissions,
    idempotent: action.idempotent,
    require_idempotency_key: action.requireIdempotencyKey,
    previews: action.previews,
    suspends: action.suspends,
    detached: action.detached,
    concurrency_safe: action.concurrencySafe,
    timeout_ms: action.timeoutMs,
    approval_ttl_ms: action.approvalTtlMs,
    definition: action.definition,
    unavailable: now.unavailable,
    blocked: now.blocked,
    health: now.health && toolHealthToWire(now.health),
  };
}

export interface UiWire {
  readonly resource_uri: string;
  readonly csp?: JsonObject | undefined;
  readonly permissions: readonly string[];
  readonly prefers_border: boolean;
}

function uiToWire({ resourceUri, csp, permissions, prefersBorder }: ToolUi): UiWire {
  return { resource_uri: resourceUri, csp, permissions, prefers_border: prefersBorder };
}

export interface GuessWire {
  readonly risk: RiskGuess["risk"];
  readonly effects: RiskGuess["effects"];
  readonly open_world: boolean;
  readonly why: readonly string[];
}

function guessToWire({ risk, effects, openWorld, why }: RiskGuess): GuessWire {
  return { risk, effects, open_world: openWorld, why };
}

export function toolHealthToWire(health: ToolHealth): ToolHealthWire {
  return {
    status: health.status,
    consecutive_errors: health.consecutiveErrors,
    last_success_at: isoOrNothing(health.lastSuccessAt),
    last_error: health.lastError,
    rate_limit_resets_at: isoOrNothing(health.rateLimitResetsAt),
  };
}

export interface DecisionWire {
  readonly verdict: Decision["verdict"];
  readonly risk: Decision["risk"];
  readonly reasons: readonly Reason[];
  readonly policy_version: string;
  readonly missing_scope?: string | undefined;
  /** In mode `observe`: what would have been enforced. */
  readonly observed?: Decision["verdict"] | undefined;
  /** The grant that answers for a person. */
  readonly grant_id?: string | undefined;
}

/** What would be decided; or why it does not get that far, with the decision when there was one. */
export type ExplanationWire = (
  | {
      readonly reached: "verdict";
      readonly decision: DecisionWire;
      readonly facts: FactsWire;
      readonly summary?: string | undefined;
    }
  | {
      readonly reached: "refused";
      readonly refusal: Refusal;
      readonly decision?: DecisionWire | undefined;
    }
) & { readonly recorded?: RecordedWire | undefined };

/** What is kept of a call that was explained by its id: its edit, and how it was weighed when it began or was asked about. */
export interface RecordedWire {
  readonly edited?: { readonly asked_digest: string; readonly digest: string } | undefined;
  readonly weighed?:
    | {
        readonly at: string;
        readonly verdict: string;
        readonly risk: string;
        readonly reasons: readonly { readonly rule: string; readonly says: string; readonly where?: string }[];
        readonly policy_version: string;
        readonly grant_id?: string | undefined;
      }
    | undefined;
}

export interface FactsWire {
  readonly tool: string;
  readonly action: string;
  readonly server?: string | undefined;
  readonly risk: ToolFacts["risk"];
  readonly risk_source: ToolFacts["riskSource"];
  readonly effects: ToolFacts["effects"];
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
}

/** @param tellsPeople also what people remembered and why it counts no more: nothing for an agent, which is told the verdict */
export function explanationToWire(explanation: Explanation, tellsPeople = true): ExplanationWire {
  const recorded = explanation.recorded && recordedToWire(explanation.recorded);
  if (explanation.reached === "refused") {
    return {
      reached: "refused",
      recorded,
      refusal: explanation.refusal,
      decision: explanation.decision && decisionToWire(explanation.decision),
    };
  }
  const { decision, counting, facts, summary } = explanation;
  return {
    reached: "verdict",
    recorded,
    decision: decisionToWire(tellsPeople ? decision : { ...decision, reasons: counting }),
    facts: factsToWire(facts),
    summary,
  };
}

function recordedToWire({ edited, weighed }: Recorded): RecordedWire {
  return {
    edited: edited && { asked_digest: edited.asked, digest: edited.runs },
    weighed: weighed && {
      ...{ at: iso(weighed.at), verdict: weighed.verdict, risk: weighed.risk, reasons: weighed.reasons },
      ...{ policy_version: weighed.policyVersion, grant_id: weighed.grant },
    },
  };
}

export function decisionToWire({
  verdict,
  risk,
  reasons,
  policyVersion,
  missingScope,
  observed,
  grant,
}: Decision): DecisionWire {
  const version = { policy_version: policyVersion, missing_scope: missingScope };
  return { verdict, risk, reasons, ...version, observed, grant_id: grant };
}

function factsToWire({ tool, action, server, risk, riskSource, effects, scopes, permissions }: ToolFacts): FactsWire {
  return { tool, action, server, risk, risk_source: riskSource, effects, scopes, permissions };
}

/** `autonomy` null: thresholds decide (SPEC 6.6). */
export interface ControlsWire {
  readonly paused: boolean;
  readonly paused_by?: Omit<ControlChangeWire, "change" | "value"> | undefined;
  readonly autonomy: Autonomy | null;
  readonly off_tools: readonly string[];
  readonly off_servers: readonly string[];
}

export function controlsToWire({ paused, pausedBy, autonomy, offTools, offServers }: ControlState): ControlsWire {
  return {
    paused,
    ...(paused && pausedBy && { paused_by: pauseToWire(pausedBy) }),
    ...{ autonomy: autonomy ?? null, off_tools: offTools, off_servers: offServers },
  };
}

function pauseToWire({ at, by, via, reason }: ControlChange): NonNullable<ControlsWire["paused_by"]> {
  return { at: iso(at), by, via, reason };
}

export interface ControlChangeWire {
  readonly at: string;
  readonly by: string;
  /** By which credential; of changes from before that was kept, nobody knows. */
  readonly via?: string | undefined;
  readonly change: string;
  readonly value?: string | undefined;
  readonly reason?: string | undefined;
}

export function controlChangeToWire({ at, by, via, change, value, reason }: ControlChange): ControlChangeWire {
  return { at: iso(at), by, via, change, value, reason };
}

export interface HealthWire {
  readonly status: Health["status"];
  readonly problem?: string | undefined;
  readonly tools: number;
  /** Tools of folders that cannot be offered, and why. */
  readonly rejected: readonly { readonly tool: string; readonly why: string }[];
  readonly servers: readonly {
    readonly name: string;
    readonly status: Health["servers"][number]["status"];
    readonly refused: Health["servers"][number]["refused"];
    readonly problem?: string | undefined;
  }[];
}

export function healthToWire(
  { status, problem, tools, servers }: Health,
  rejected: HealthWire["rejected"] = [],
): HealthWire {
  const shown = servers.map((server) => ({
    name: server.name,
    status: server.status,
    refused: server.refused,
    problem: server.problem,
  }));
  return { status, problem, tools, rejected, servers: shown };
}

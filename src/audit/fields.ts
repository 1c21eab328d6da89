import type { Principal, ToolCall } from "../core/call.ts";
import { type DurableEvent, endWords, type NotedEvent, type Weighing, words } from "../core/event.ts";
import { type Json, maxDepth } from "../core/json.ts";
import { attemptedEnds, attemptedSummary, decisionOutcomes, endSummary, openSummary, stageOf } from "./audit-words.ts";
import type { AuditEvent } from "./log.ts";
import { responseHash } from "./response-hash.ts";
import type { Timestamps } from "./timestamps.ts";

type Fields = Omit<AuditEvent, "audit_id" | "seq">;
/**
 * What is kept of an event. Its id and number are its place in the log. Undefined: not there.
 *
 * Its members stand in the order of their names, in which they are spelled: then there is nothing to sort.
 */
export type AuditBody = { readonly [Name in keyof Fields]: Fields[Name] | undefined };
/** Every text that came from outside passes it: known secrets masked, half surrogates replaced. */
export type Clean = (text: string) => string;

type CallEventFields = Required<Pick<Fields, "action" | "principal" | "tenant" | "tool_name" | "trace_id">> &
  Pick<Fields, "autonomy_level">;
type RiskFields = Required<Pick<Fields, "policy_version" | "risk_level">> & Pick<Fields, "connector_id">;
type WeighingFields = RiskFields & Required<Pick<Fields, "reasons" | "verdict">>;
type EventAt<Moment extends DurableEvent["moment"]> = Extract<DurableEvent, { readonly moment: Moment }>;

/** SPEC 14.7: one event as the record that is kept of it. Arguments and results are in it as hashes only. */
export function auditBody(event: DurableEvent, clean: Clean, timestamps: Timestamps): AuditBody {
  switch (event.moment) {
    case "held":
      return heldBody(event, clean, timestamps);
    case "decided":
      return decidedBody(event, clean, timestamps);
    case "attempted":
      return attemptedBody(event, clean, timestamps);
    case "ended":
      return endedBody(event, clean, timestamps);
    case "noted":
      return notedBody(event, clean, timestamps);
  }
}

function heldBody(event: EventAt<"held">, clean: Clean, timestamps: Timestamps): AuditBody {
  const { call, at, approvalId, expiresAt } = event;
  const { action, autonomy_level, principal, tenant, tool_name, trace_id } = callFields(call, clean);
  const { connector_id, policy_version, reasons, risk_level, verdict } = weighingFields(event.weighing, clean);
  return {
    action,
    autonomy_level,
    connector_id,
    data: { expires_at: new Date(expiresAt).toISOString() },
    outcome: "info",
    policy_version,
    principal,
    reasons,
    refs: refsOf(call, { key: call.resumes, approvalId }, clean),
    request_hash: call.digest,
    risk_level,
    stage: "gate",
    summary: `${nameOf(call, clean)} needs a person`,
    tenant,
    timestamp: timestamps.spell(at),
    tool_name,
    trace_id,
    type: words.held.audit,
    verdict,
  };
}

function decidedBody(event: EventAt<"decided">, clean: Clean, timestamps: Timestamps): AuditBody {
  const { call, at, approvalId, as, by, via, onBehalfOf, reason, risk, policyVersion, approved } = event;
  const { action, autonomy_level, principal, tenant, tool_name, trace_id } = callFields(call, clean);
  const data = {
    ...(approved !== undefined && { approved_hash: approved }),
    ...(onBehalfOf !== undefined && { on_behalf_of: clean(onBehalfOf) }),
  };
  return {
    action,
    autonomy_level,
    data: Object.keys(data).length > 0 ? data : undefined,
    decided_by: clean(by),
    decided_via: clean(via),
    outcome: decisionOutcomes[as],
    policy_version: policyVersion,
    principal,
    reason: reason && clean(reason),
    refs: refsOf(call, { key: call.resumes, approvalId }, clean),
    request_hash: call.digest,
    risk_level: risk,
    stage: "gate",
    summary: `${nameOf(call, clean)} ${as}`,
    tenant,
    timestamp: timestamps.spell(at),
    tool_name,
    trace_id,
    type: `${words.decided.audit}.${as}`,
  };
}

function attemptedBody(event: EventAt<"attempted">, clean: Clean, timestamps: Timestamps): AuditBody {
  const { call, at, key, approvalId, weighing } = event;
  const { action, autonomy_level, principal, tenant, tool_name, trace_id } = callFields(call, clean);
  const { connector_id, policy_version, reasons, risk_level, verdict } = weighingFields(weighing, clean);
  return {
    action,
    autonomy_level,
    connector_id,
    data: call.providerItem && { provider_item: call.providerItem },
    outcome: "info",
    policy_version,
    principal,
    reasons,
    refs: refsOf(call, { key, approvalId, grant: weighing.grant, parentId: call.parentId }, clean),
    request_hash: call.digest,
    risk_level,
    stage: "execute",
    summary: attemptedSummary(nameOf(call, clean)),
    tenant,
    timestamp: timestamps.spell(at),
    tool_name,
    trace_id,
    type: words.attempted.audit,
    verdict,
  };
}

function endedBody(event: EventAt<"ended">, clean: Clean, timestamps: Timestamps): AuditBody {
  const { call, at, as, outcome, weighing, code, approvalId, by, via, reason, policyVersion } = event;
  const { action, autonomy_level, principal, tenant, tool_name, trace_id } = callFields(call, clean);
  const wasAttempted = attemptedEnds.has(as); // then why it might run is told already
  const weighed: Partial<WeighingFields> | undefined =
    weighing && (wasAttempted ? riskFields : weighingFields)(weighing, clean);
  return {
    action,
    autonomy_level,
    code,
    connector_id: weighed?.connector_id,
    decided_by: by && clean(by),
    decided_via: via && clean(via),
    latency_ms: roundedMs(event.latencyMs),
    outcome: endWords[as].outcome,
    payload_ref: outcome.artifact,
    policy_version: weighed?.policy_version ?? policyVersion,
    principal,
    reason: reason && clean(reason),
    reasons: weighed?.reasons,
    refs: refsOf(call, { key: event.key ?? call.resumes, approvalId }, clean),
    request_hash: wasAttempted ? undefined : call.digest,
    response_hash: responseHash(outcome),
    risk_level: weighed?.risk_level,
    stage: stageOf(as, code),
    summary: isOpen(event) ? openSummary(nameOf(call, clean), as) : endSummary(nameOf(call, clean), as, code),
    tenant,
    timestamp: timestamps.spell(at),
    tool_name,
    trace_id,
    type: endWords[as].audit,
    verdict: weighed?.verdict,
  };
}

/** This arrival ended, and the request it waited for did not. */
function isOpen({ as, code, outcome }: EventAt<"ended">): boolean {
  return as === "refused" ? code === "approval_timed_out" : as === "deduped" && outcome.status === "pending";
}

function notedBody(event: NotedEvent, clean: Clean, timestamps: Timestamps): AuditBody {
  const { at, type, summary, traceId, by, via, outcome, data, policyVersion } = event;
  const principal = actorOf(event);
  const [stage = type] = type.split(".", 1);
  return {
    data: data === undefined ? undefined : cleanJson(data, clean, 0),
    decided_by: by && clean(by),
    decided_via: via && clean(via),
    outcome,
    policy_version: clean(policyVersion),
    principal: principalFields(principal, clean),
    refs: {},
    stage: clean(stage),
    summary: clean(summary),
    tenant: clean(principal.tenant),
    timestamp: timestamps.spell(at),
    trace_id: clean(traceId),
    type: clean(type),
  };
}

/** Who stands behind what is nobody's call (D25): the agent it is about, the operator who did it, else Postern itself. */
function actorOf({ principal, tenant = "default", by }: NotedEvent): Principal {
  if (principal !== undefined) return principal;
  return by === undefined ? { tenant, agent: "system" } : { tenant, agent: "operator", user: by };
}

function principalFields({ agent, user, via }: Principal, clean: Clean): NonNullable<Fields["principal"]> {
  return {
    agent: clean(agent),
    ...(user !== undefined && { user: clean(user) }),
    ...(via !== undefined && { via: clean(via) }),
  };
}

/** What every event of a call says of it. */
function callFields(call: ToolCall, clean: Clean): CallEventFields {
  const { principal, autonomy, traceId } = call.authority;
  return {
    action: clean(call.action),
    ...(autonomy !== undefined && { autonomy_level: autonomy }),
    principal: principalFields(principal, clean),
    tenant: clean(principal.tenant),
    tool_name: clean(call.tool),
    trace_id: clean(traceId),
  };
}

interface Refs {
  readonly key: string | undefined;
  readonly approvalId: string | undefined;
  readonly grant?: string | undefined;
  readonly parentId?: string | undefined;
}

/** `key` is told when it is not the call's own id: then this is another arrival of that call. */
function refsOf(call: ToolCall, { key, approvalId, grant, parentId }: Refs, clean: Clean): Fields["refs"] {
  const { runId, stepId, taskId } = call.authority;
  return {
    ...(approvalId !== undefined && { approval: approvalId }),
    ...(grant !== undefined && { grant }),
    ...(key !== undefined && key !== call.id && { key }),
    ...(parentId !== undefined && { parent: parentId }),
    run: clean(runId),
    ...(stepId !== undefined && { step: clean(stepId) }),
    ...(taskId !== undefined && { task: clean(taskId) }),
    tool_call: call.id,
  };
}

function weighingFields(weighing: Weighing, clean: Clean): WeighingFields {
  return {
    ...riskFields(weighing, clean),
    reasons: weighing.reasons.map(({ rule, says, where }) => ({
      rule: clean(rule),
      says,
      ...(where !== undefined && { where: clean(where) }),
    })),
    verdict: weighing.verdict,
  };
}

function riskFields({ connector, policyVersion, risk }: Weighing, clean: Clean): RiskFields {
  return {
    ...(connector !== undefined && { connector_id: clean(connector) }),
    policy_version: clean(policyVersion),
    risk_level: risk,
  };
}

/** The name a person knows it by; `default` is the action of a tool that has only one. */
function nameOf(call: ToolCall, clean: Clean): string {
  return call.action === "default" ? clean(call.tool) : `${clean(call.tool)}.${clean(call.action)}`;
}

/** Milliseconds with three decimals; nothing when it is not a number. */
function roundedMs(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.round(ms * 1000) / 1000 : undefined;
}

/** Never throws: what cannot be spelled must not stop a batch of other calls' events. */
function cleanJson(value: Json, clean: Clean, depth: number): Json {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth - 2) return "[too deep]";
  if (Array.isArray(value)) return value.map((inner: Json) => cleanJson(inner, clean, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [clean(name), cleanJson(inner, clean, depth + 1)]),
  );
}

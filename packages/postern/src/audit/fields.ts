import {
  canonical,
  type DurableEvent,
  endEvents,
  type Json,
  maxDepth,
  momentNames,
  type NotedEvent,
  type Principal,
  type ToolCall,
  type ToolOutcome,
  type Weighing,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { attemptedEnds, attemptedSummary, decisionOutcomes, endSummary, openSummary, stageOf } from "./audit-words.ts";
import type { AuditEvent } from "./log.ts";

type Fields = Omit<AuditEvent, "audit_id" | "seq">;
type Required = "outcome" | "refs" | "stage" | "summary" | "tenant" | "timestamp" | "trace_id" | "type";
type Optional = { readonly [Name in Exclude<keyof Fields, Required>]?: Fields[Name] | undefined };
/** What is stored of an event: its id and number are its place in the log. */
export type AuditBody = Pick<Fields, Required> & Optional;
/** Masks known secrets and replaces half surrogates. Every text from outside passes it. */
export type Clean = (text: string) => string;
type EventAt<Moment extends DurableEvent["moment"]> = Extract<DurableEvent, { readonly moment: Moment }>;

const thousandths: readonly string[] = Array.from({ length: 1000 }, (_, ms) => `${String(ms).padStart(3, "0")}Z`);

/** ISO 8601 in UTC, the text that `Date` writes. The text of a second is made once, because many calls come in one. */
export class Timestamps {
  #second = Number.NaN;
  #prefix = "";

  /** @param at wall clock, milliseconds */
  textOf(at: number): string {
    const second = Math.floor(at / 1000);
    if (second !== this.#second) {
      this.#prefix = new Date(second * 1000).toISOString().slice(0, -4);
      this.#second = second;
    }
    return `${this.#prefix}${thousandths[Math.floor(at) - second * 1000]}`;
  }
}

/** One event as the record that is stored of it. It holds arguments and results as hashes only. */
export function auditBody(event: DurableEvent, clean: Clean, timestamps: Timestamps): AuditBody {
  return inOrder({ ...fieldsOf(event, clean), timestamp: timestamps.textOf(event.at) });
}

/** The members in the order of their names, which is their order in canonical JSON: nothing needs to be sorted. */
function inOrder(body: AuditBody): AuditBody {
  return {
    action: body.action,
    autonomy_level: body.autonomy_level,
    code: body.code,
    connector_id: body.connector_id,
    data: body.data,
    decided_by: body.decided_by,
    decided_via: body.decided_via,
    latency_ms: body.latency_ms,
    observed: body.observed,
    outcome: body.outcome,
    payload_ref: body.payload_ref,
    policy_version: body.policy_version,
    principal: body.principal,
    reason: body.reason,
    reasons: body.reasons,
    refs: body.refs,
    request_hash: body.request_hash,
    response_hash: body.response_hash,
    risk_level: body.risk_level,
    stage: body.stage,
    summary: body.summary,
    tenant: body.tenant,
    timestamp: body.timestamp,
    tool_name: body.tool_name,
    trace_id: body.trace_id,
    type: body.type,
    verdict: body.verdict,
  };
}

function fieldsOf(event: DurableEvent, clean: Clean): Omit<AuditBody, "timestamp"> {
  switch (event.moment) {
    case "held":
      return heldFields(event, clean);
    case "decided":
      return decidedFields(event, clean);
    case "attempted":
      return attemptedFields(event, clean);
    case "ended":
      return endedFields(event, clean);
    case "noted":
      return notedFields(event, clean);
  }
}

function heldFields({ call, approvalId, expiresAt, weighing }: EventAt<"held">, clean: Clean) {
  return {
    ...callFields(call, clean),
    ...weighingFields(weighing, clean),
    data: { expires_at: new Date(expiresAt).toISOString() },
    outcome: "info" as const,
    refs: refsOf(call, { key: call.resumes, approvalId }, clean),
    request_hash: call.digest,
    stage: "gate",
    summary: `${nameOf(call, clean)} needs a person`,
    type: momentNames.held.audit,
  };
}

function decidedFields(event: EventAt<"decided">, clean: Clean) {
  const { call, approvalId, as, by, via, reason, risk, policyVersion, approved } = event;
  return {
    ...callFields(call, clean),
    data: approved === undefined ? undefined : { approved_hash: approved },
    decided_by: clean(by),
    decided_via: clean(via),
    outcome: decisionOutcomes[as],
    policy_version: policyVersion,
    reason: reason && clean(reason),
    refs: refsOf(call, { key: call.resumes, approvalId }, clean),
    request_hash: call.digest,
    risk_level: risk,
    stage: "gate",
    summary: `${nameOf(call, clean)} ${as}`,
    type: `${momentNames.decided.audit}.${as}`,
  };
}

function attemptedFields({ call, key, approvalId, weighing }: EventAt<"attempted">, clean: Clean) {
  return {
    ...callFields(call, clean),
    ...weighingFields(weighing, clean),
    data: call.providerItem && { provider_item: call.providerItem },
    outcome: "info" as const,
    refs: refsOf(call, { key, approvalId, grant: weighing.grant, parentId: call.parentId }, clean),
    request_hash: call.digest,
    stage: "execute",
    summary: attemptedSummary(nameOf(call, clean)),
    type: momentNames.attempted.audit,
  };
}

function endedFields(event: EventAt<"ended">, clean: Clean) {
  const { call, as, outcome, weighing, code, approvalId, by, via, reason, policyVersion } = event;
  const wasAttempted = attemptedEnds.has(as); // then the entry about the attempt has the verdict and its reasons
  const name = nameOf(call, clean);
  return {
    ...callFields(call, clean),
    policy_version: policyVersion,
    ...(weighing && (wasAttempted ? riskFields : weighingFields)(weighing, clean)),
    code,
    decided_by: by && clean(by),
    decided_via: via && clean(via),
    latency_ms: roundedMs(event.latencyMs),
    outcome: endEvents[as].outcome,
    payload_ref: outcome.artifact,
    reason: reason && clean(reason),
    refs: refsOf(call, { key: event.key ?? call.resumes, approvalId }, clean),
    request_hash: wasAttempted ? undefined : call.digest,
    response_hash: responseHash(outcome),
    stage: stageOf(as, code),
    summary: isOpen(event) ? openSummary(name, as) : endSummary(name, as, code),
    type: endEvents[as].audit,
  };
}

/** Whether this arrival ended, but not the approval request that it waited for. */
function isOpen({ as, code, outcome }: EventAt<"ended">): boolean {
  return as === "refused" ? code === "approval_timed_out" : as === "deduped" && outcome.status === "pending";
}

function notedFields(event: NotedEvent, clean: Clean) {
  const { type, summary, traceId, by, via, outcome, data, policyVersion } = event;
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
    trace_id: clean(traceId),
    type: clean(type),
  };
}

/** Who a system event is about: the agent it names, the operator who acted, else Postern itself. */
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

/** What every event of a call has. */
function callFields(call: ToolCall, clean: Clean) {
  const { principal, autonomy, traceId } = call.authority;
  return {
    action: clean(call.action),
    autonomy_level: autonomy,
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

/** `key` is written if it is not the call's own id: then this is another arrival of that call. */
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

function weighingFields(weighing: Weighing, clean: Clean) {
  const reasons = weighing.reasons.map(({ rule, effect, where }) => ({
    effect,
    rule: clean(rule),
    ...(where !== undefined && { where: clean(where) }),
  }));
  return { ...riskFields(weighing, clean), observed: weighing.observed, reasons, verdict: weighing.verdict };
}

function riskFields({ connector, policyVersion, risk }: Weighing, clean: Clean) {
  return { connector_id: connector && clean(connector), policy_version: clean(policyVersion), risk_level: risk };
}

/** The name that people know: `default` is the action of a tool that has only one. */
function nameOf(call: ToolCall, clean: Clean): string {
  return call.action === "default" ? clean(call.tool) : `${clean(call.tool)}.${clean(call.action)}`;
}

/** Milliseconds with three decimals. Returns undefined if it is no finite number. */
function roundedMs(ms: number): number | undefined {
  return Number.isFinite(ms) ? Math.round(ms * 1000) / 1000 : undefined;
}

/** Never throws: what has no JSON must not stop a batch of other calls' events. */
function cleanJson(value: Json, clean: Clean, depth: number): Json {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= maxDepth - 2) return "[too deep]";
  if (Array.isArray(value)) return value.map((inner: Json) => cleanJson(inner, clean, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [clean(name), cleanJson(inner, clean, depth + 1)]),
  );
}

/**
 * SHA-256 of the returned text. If a result is more than text, of the canonical JSON of `{ content?, structured?, text }`,
 * with `content` only if a block is not text.
 */
function responseHash({ text, structured, content }: ToolOutcome): string {
  const onlyText = content.every(({ type }) => type === "text");
  if (onlyText && structured === undefined) return sha256(text);
  const whole = {
    ...(!onlyText && { content: content.map((block) => ({ ...block })) }),
    ...(structured !== undefined && { structured }),
    text,
  };
  try {
    return sha256(canonical(whole));
  } catch {
    return sha256(JSON.stringify(whole)); // half surrogates or too deep for RFC 8785: still one text for one result
  }
}

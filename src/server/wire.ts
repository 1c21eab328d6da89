/**
 * What the runtime has, in the names of the contract: one function a shape.
 *
 * Fields with the same name on both sides are spread; the schema of the answer leaves out what it has not. An outcome and
 * an event of the feed are sent without their schema, so these name each field.
 */
import { shownDigest } from "../approvals/binding.ts";
import type { Grant, GrantState } from "../approvals/grant.ts";
import { votesLeft } from "../approvals/quorum.ts";
import { unrouted } from "../approvals/routes.ts";
import type { Verification } from "../audit/log.ts";
import type { CandidateRecord } from "../builtin/memory/candidate-service.ts";
import { type Skill, type Skills, unknownToolWarnings } from "../builtin/skills/skills.ts";
import { readArtifactName } from "../core/artifact.ts";
import { opaqueFields, toSnakeCase } from "../core/case.ts";
import { digestOf, type JsonObject } from "../core/json.ts";
import type { Preview, ToolOutcome } from "../core/outcome.ts";
import type { ApprovalRecord, CallRecord, Routed } from "../core/records.ts";
import type { ChainEngine, ChainSummary } from "../core/scripts.ts";
import type { Account, ApiToken, ListedToken } from "../identity/accounts.ts";
import type { ToolChanges } from "../mcp/client/pins.ts";
import type { Alarm } from "../observe/alarms/alarms.ts";
import type { FeedEvent } from "../observe/feed-event.ts";
import type { ChannelState } from "../observe/notify/channel.ts";
import type { ControlState } from "../policy/controls.ts";
import type { Decision, EffectiveLine } from "../policy/policy.ts";
import type { VerdictChange } from "../policy/report/simulate.ts";
import { policyOpaque } from "../policy/schema.ts";
import { readableOutcome } from "../results/readable.ts";
import { howToApprove, openRequestOf, renderOutcome } from "../results/render.ts";
import type { Explanation } from "../runtime/api.ts";
import type { ToolBlock } from "../tools/registered.ts";
import type { ActionStatistics } from "../tools/statistics.ts";
import type { Offer, ToolHealth } from "../tools/tool.ts";
import type { accounts, tokens } from "./contract/accounts.ts";
import type { alarm as alarmSchema } from "./contract/alarms.ts";
import { type ApprovalView, approval as approvalSchema, type ViewerInput } from "./contract/approvals.ts";
import type { verification } from "./contract/audit.ts";
import type { call as callSchema } from "./contract/calls.ts";
import type { chainPage, chain as chainSchema } from "./contract/chains.ts";
import type { channel as channelSchema } from "./contract/channels.ts";
import type { controlState } from "./contract/controls.ts";
import type { feedEvent } from "./contract/events.ts";
import { iso } from "./contract/fields.ts";
import type { grant as grantSchema } from "./contract/grants.ts";
import type { candidate as candidateSchema } from "./contract/memory.ts";
import { blockData, type outcome as outcomeSchema, type preview as previewSchema } from "./contract/outcome.ts";
import type { decision as decisionSchema, explanation as explanationSchema, policy } from "./contract/policy.ts";
import { type Input, shape } from "./contract/route.ts";
import type { skillList as skillListSchema } from "./contract/skills.ts";
import type { toolChanges, tool as toolSchema, tools } from "./contract/tools.ts";

type Item<List extends readonly unknown[]> = List[number];

const blockOpaque = opaqueFields(blockData);

/** Text and content are what a model reads; the rest is the outcome itself. `tool`: as the caller named it. */
export function outcomeToWire(recorded: ToolOutcome, tool: string): Input<typeof outcomeSchema> {
  const outcome = readableOutcome(recorded); // an outcome on record is as the tool answered it
  const open = openRequestOf(outcome);
  const { text, content } = renderOutcome(outcome, { tool, readOn, isProgram: true });
  const { status, structured, artifact, files, summary, preview, notes, marks, refusal, replayed } = outcome;
  return {
    ...{ status, structured, artifact, summary, notes, marks, refusal, replayed, text },
    call_id: outcome.callId,
    content: content.map((block) => toSnakeCase(block, blockOpaque) as JsonObject), // a block is plain JSON
    files: files?.map(({ mediaType, ...file }) => ({ ...file, media_type: mediaType })),
    preview: preview && previewToWire(preview),
    approval_id: open?.id ?? outcome.approvalId,
    expires_at: open?.expiresAt ?? (outcome.expiresAt && iso(outcome.expiresAt)),
    how_to_approve: open && howToApprove(),
    timed_out: outcome.timedOut,
  };
}

function readOn(digest: string, fromByte: number): string {
  return `call \`${readArtifactName}\` with {"artifact": "${digest}", "offset": ${fromByte}}, or get /v1/artifacts/${digest}`;
}

function previewToWire(preview: Preview): Input<typeof previewSchema> {
  const { table, message, diff } = preview;
  const kind = table !== undefined ? "table" : message !== undefined ? "message" : diff !== undefined ? "diff" : "text";
  return { kind, ...preview };
}

export function callToWire({ call, risk, outcome, ...record }: CallRecord): Input<typeof callSchema> {
  const { authority } = call;
  return {
    ...record,
    call_id: call.id,
    tool: call.tool,
    action: call.action,
    arguments: call.arguments,
    arguments_digest: call.digest,
    requested_by: authority.principal,
    run_id: authority.runId,
    trace_id: authority.traceId,
    task_id: authority.taskId,
    step_id: authority.stepId,
    parent_id: call.parentId,
    autonomy_level: authority.autonomy,
    risk_level: risk,
    idempotency_key: call.idempotencyKey,
    approval_id: record.approvalId,
    arrived_at: call.arrivedAt,
    started_at: record.startedAt,
    ended_at: record.endedAt,
    outcome: outcome && outcomeToWire(outcome, call.tool),
  };
}

export function chainToWire({ waiting, ...chain }: ChainSummary): Input<typeof chainSchema> {
  return {
    ...chain,
    call_id: chain.callId,
    requested_by: chain.principal,
    run_id: chain.runId,
    image_bytes: chain.imageBytes,
    waiting: waiting.map(({ approvalId, ...call }) => ({ ...call, approval_id: approvalId })),
    expires_at: chain.expiresAt,
  };
}

export function engineToWire({ isDown, ...engine }: ChainEngine): Item<Input<typeof chainPage>["engines"]> {
  return { ...engine, down: isDown };
}

export function toolToWire(
  { name, facts, ...offer }: Offer,
  now: {
    readonly health?: ToolHealth | undefined;
    readonly unavailable?: string | undefined;
    readonly blocked?: ToolBlock["why"] | undefined;
  },
): Input<typeof toolSchema> {
  const { ui } = offer;
  const { guess, openWorld, riskSource, ...stated } = facts;
  return {
    ...offer,
    ...stated,
    ...now,
    action: name,
    tool_type: offer.toolType,
    input_schema: offer.inputSchema,
    output_schema: offer.outputSchema,
    ui: ui && { ...ui, resource_uri: ui.resourceUri, prefers_border: ui.prefersBorder },
    provider_specs: offer.providerSpecs,
    call_types: offer.callTypes,
    risk_source: riskSource,
    guess: guess && { ...guess, open_world: guess.openWorld },
    open_world: openWorld === true,
    require_idempotency_key: offer.requireIdempotencyKey,
    concurrency_safe: offer.concurrencySafe,
    timeout_ms: offer.timeoutMs,
    approval_ttl_ms: offer.approvalTtlMs,
    health: now.health && healthToWire(now.health),
  };
}

function healthToWire(health: ToolHealth): Input<typeof toolSchema>["health"] {
  return {
    status: health.status,
    consecutive_errors: health.consecutiveErrors,
    last_success_at: health.lastSuccessAt,
    last_error: health.lastError,
    rate_limit_resets_at: health.rateLimitResetsAt,
  };
}

export function toolChangesToWire({ pinned, offered, ...changes }: ToolChanges): Input<typeof toolChanges> {
  return {
    ...changes,
    pinned: pinned && { ...pinned, definition: pinned.digest },
    offered: offered && { ...offered, definition: offered.digest },
  };
}

export function statisticsToWire(action: ActionStatistics): Item<Input<typeof tools.statistics.answer>["tools"]> {
  return {
    ...action,
    p50_ms: action.p50Ms,
    p95_ms: action.p95Ms,
    last_call_at: action.lastCallAt,
    last_error_at: action.lastErrorAt,
    last_error_code: action.lastErrorCode,
  };
}

/** @param isForPerson also what people remembered and why it no longer counts; an agent learns only the verdict */
export function explanationToWire(explanation: Explanation, isForPerson = true): Input<typeof explanationSchema> {
  const recorded = recordedToWire(explanation.recorded);
  if (explanation.reached === "refused") {
    const { refusal, decision } = explanation;
    return { reached: "refused", recorded, refusal, decision: decision && decisionToWire(decision) };
  }
  const { decision, counting, facts, summary } = explanation;
  return {
    reached: "verdict",
    recorded,
    decision: decisionToWire(isForPerson ? decision : { ...decision, reasons: counting }),
    facts: { ...facts, risk_source: facts.riskSource },
    summary,
  };
}

function recordedToWire(recorded: Explanation["recorded"]): Input<typeof explanationSchema>["recorded"] {
  if (recorded === undefined) return undefined;
  const { edited, weighed } = recorded;
  return {
    edited: edited && { asked_digest: edited.asked, digest: edited.runs },
    weighed: weighed && { ...weighed, policy_version: weighed.policyVersion, grant_id: weighed.grant },
  };
}

export function decisionToWire(decision: Decision): Input<typeof decisionSchema> {
  return {
    ...decision,
    policy_version: decision.policyVersion,
    missing_scope: decision.missingScope,
    grant_id: decision.grant,
  };
}

type EffectiveLines = NonNullable<Input<typeof policy.show.answer>["lines"]>;

export function effectiveLineToWire({ requestedBy, ...line }: EffectiveLine): Item<EffectiveLines> {
  return { ...line, requested_by: requestedBy };
}

export function verdictChangeToWire(change: VerdictChange): Item<Input<typeof policy.simulate.answer>["changes"]> {
  return {
    ...change,
    call_id: change.callId,
    requested_by: change.principal,
    run_id: change.runId,
    before: decisionToWire(change.before),
    after: decisionToWire(change.after),
  };
}

/** All that an operator may want to know of skills, without their instructions. */
export function skillsToWire(skills: Skills | undefined): Input<typeof skillListSchema> {
  if (skills === undefined) return { skills: [], refused: [], notes: [] };
  const { refused, notes } = skills;
  return { skills: skills.list().map((skill) => skillToWire(skill, skills.unknownTools(skill))), refused, notes };
}

function skillToWire(skill: Skill, unknown: readonly string[]): Item<Input<typeof skillListSchema>["skills"]> {
  const warnings = [...skill.warnings, ...unknownToolWarnings(skill, unknown)];
  return { ...skill, allowed_tools: skill.allowedTools, warnings };
}

/** As a client reads it. */
export function shownApproval(record: ApprovalRecord): ApprovalView {
  return shape(approvalSchema, approvalToWire(record));
}

interface ForViewer {
  readonly viewer?: ViewerInput | undefined;
  /** What a decision needs now. Default: what it needed when it was asked. */
  readonly requirement?: Routed | undefined;
}

export function approvalToWire(
  record: ApprovalRecord,
  { viewer, requirement = record.routed ?? unrouted }: ForViewer = {},
): Input<typeof approvalSchema> {
  const { id, tool, action, arguments: runs, artifacts, preview, askedPreview, votes = [] } = record;
  return {
    ...record,
    ...{ viewer, votes },
    approval_id: id,
    status: record.state,
    created_at: record.requestedAt,
    expires_at: record.expiresAt,
    trace_id: record.traceId,
    refs: { run: record.runId, key: record.key },
    requested_by: record.principal,
    risk_level: record.risk,
    autonomy_level: record.autonomy,
    what: {
      ...{ tool, action, arguments: runs },
      artifacts: artifacts?.map(({ mediaType, ...artifact }) => ({ ...artifact, media_type: mediaType })),
    },
    asked: isEdited(record) ? record.asked : undefined,
    asked_preview: askedPreview && previewToWire(askedPreview),
    preview: preview && previewToWire(preview),
    preview_digest: record.previewDigest,
    preview_binds: preview && record.previewBinds,
    policy_version: record.policyVersion,
    digest: digestOf(runs),
    shown_digest: shownDigest(record),
    routed: routedToWire(requirement),
    quorum_left: record.state === "pending" ? votesLeft(record, requirement.quorum) : 0,
    remembers_allowed: requirement.remembers,
    run_calls: record.runCalls,
    reminded_at: record.remindedAt,
    escalated_at: record.escalatedAt,
    on_expiry: "denied",
    how_to_approve: `POST /v1/approvals/${id}/approve`,
  };
}

function isEdited({ asked, arguments: runs, decision }: ApprovalRecord): boolean {
  return decision?.as === "modified" || JSON.stringify(asked) !== JSON.stringify(runs);
}

function routedToWire({ rule, to, quorum, ...routed }: Routed): Input<typeof approvalSchema>["routed"] {
  return {
    ...{ rule, to, quorum },
    typed_confirmation: routed.typedConfirmation,
    separate_user: routed.separateUser,
    signed_in: routed.signedIn,
    remind_at: routed.remindAt,
    escalate_at: routed.escalateAt,
    escalate_to: routed.escalateTo,
  };
}

export function grantToWire(one: Grant, status: GrantState, silent?: string): Input<typeof grantSchema> {
  const { tool, action, arguments: conditions } = one;
  return {
    ...one,
    ...{ status, silent },
    grant_id: one.id,
    scope: { tool, action, arguments: conditions && (toSnakeCase(conditions, policyOpaque) as JsonObject) }, // conditions are plain JSON
    granted_to: one.principal,
    run_id: one.runId,
    approval_id: one.approvalId,
    risk_level: one.risk,
    answers: one.asks,
    last_used_at: one.lastUsedAt,
  };
}

export function candidateToWire({ at, id, decision, ...record }: CandidateRecord): Input<typeof candidateSchema> {
  return {
    ...record,
    candidate_id: id,
    run_id: record.runId,
    call_id: record.callId,
    proposed_at: at,
    decided_at: decision?.at,
    decided_by: decision?.by,
    reason: decision?.reason,
    memory_id: decision?.memoryId,
    approval_id: decision?.approvalId,
    error: decision?.error,
  };
}

export function accountToWire(account: Account): Input<typeof accounts.show.answer> {
  const { displayName, signsIn, createdAt, ...same } = account;
  return { ...same, display_name: displayName, signs_in: signsIn, created_at: createdAt };
}

export function tokenToWire(token: ApiToken): Input<typeof tokens.revoke.answer> {
  const { createdAt, expiresAt, revokedAt, lastUsedAt, ...same } = token;
  return { ...same, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt, last_used_at: lastUsedAt };
}

export function listedTokenToWire(token: ListedToken): Item<Input<typeof tokens.list.answer>["tokens"]> {
  const { state, why, lost } = token;
  return { ...tokenToWire(token), state, why, lost };
}

export function alarmToWire({ id, key, firstSeen, lastSeen, ...alarm }: Alarm): Input<typeof alarmSchema> {
  return { ...alarm, alarm_id: id, dedupe_key: key, first_seen: firstSeen, last_seen: lastSeen };
}

export function channelToWire({ dead, lastDeliveredAt, ...state }: ChannelState): Input<typeof channelSchema> {
  return {
    ...state,
    last_delivered_at: lastDeliveredAt,
    dead: dead.map(({ seq, ...one }) => ({ ...one, entry: seq })),
  };
}

export function controlsToWire(state: ControlState): Input<typeof controlState> {
  const { paused, pausedBy, autonomy = null, offTools, offServers } = state;
  return { paused, paused_by: paused ? pausedBy : undefined, autonomy, off_tools: offTools, off_servers: offServers };
}

export function verificationToWire(found: Verification): Input<typeof verification> {
  return found.intact ? found : { ...found, first_broken: found.firstBroken };
}

export function feedEventToWire({ id, type, at, ...event }: FeedEvent): Input<typeof feedEvent> {
  return {
    ...{ id, type, at },
    run_id: event.runId,
    call_id: event.callId,
    approval_id: event.approvalId,
    trace_id: event.traceId,
    agent: event.agent,
    tool: event.tool,
    summary: event.summary,
    data: event.data,
  };
}

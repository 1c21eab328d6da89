/**
 * What the runtime has, in the names of the contract: one function a shape.
 *
 * Fields of the same name are spread: the schema of an answer leaves out what the contract has not. An outcome and an
 * event of the feed are sent without a schema, so they hold nothing else. Fields that hold data (arguments, schemas,
 * details) are named: the converter of names would change what is inside.
 */

import {
  type ApprovalRecord,
  type CallRecord,
  type ChainSummary,
  type JsonObject,
  noOpaqueFields,
  opaqueFields,
  type Preview,
  type Routed,
  readArtifactName,
  type ToolOutcome,
  toSnakeCase,
} from "@postern/core";
import {
  type ApprovalView,
  type alarm as alarmSchema,
  approval as approvalSchema,
  blockData,
  type call as callSchema,
  type candidate as candidateSchema,
  type chain as chainSchema,
  type channel as channelSchema,
  type controlState,
  type decision as decisionSchema,
  type explanation as explanationSchema,
  type feedEvent,
  type grant as grantSchema,
  type Input,
  iso,
  type outcome as outcomeSchema,
  type policy,
  type preview as previewSchema,
  type serverHealth,
  shape,
  type skillList as skillListSchema,
  type toolChanges,
  type tool as toolSchema,
  type ViewerInput,
  type verification,
} from "@postern/core/contract";
import { digestOf } from "@postern/core/system";
import { shownDigest } from "../approvals/binding.ts";
import type { Grant, GrantState } from "../approvals/grant.ts";
import { votesLeft } from "../approvals/quorum.ts";
import { unrouted } from "../approvals/routes.ts";
import type { Verification } from "../audit/log.ts";
import type { CandidateRecord } from "../builtin/memory/candidate-service.ts";
import { type Skills, unknownToolWarnings } from "../builtin/skills/skills.ts";
import type { ToolChanges } from "../mcp/client/pins.ts";
import type { Alarm } from "../observe/alarms/alarms.ts";
import type { FeedEvent } from "../observe/feed-event.ts";
import type { ChannelState } from "../observe/notify/channel.ts";
import type { ControlState } from "../policy/controls.ts";
import type { Decision } from "../policy/policy.ts";
import type { VerdictChange, VerdictGroup } from "../policy/report/simulate.ts";
import { policyOpaque } from "../policy/schema.ts";
import { readableOutcome } from "../results/readable.ts";
import { howToApprove, openRequestOf, renderOutcome } from "../results/render.ts";
import type { Explanation, UpstreamHealth } from "../runtime/api/api.ts";
import type { Offer } from "../tools/tool.ts";
import { durationsOf } from "./durations.ts";

const blockOpaque = opaqueFields(blockData);
const feedOpaque = opaqueFields(["data"]);

/** Text and content are what a model reads; the rest is the outcome itself. `tool`: as the caller named it. */
export function outcomeToWire(recorded: ToolOutcome, tool: string): Input<typeof outcomeSchema> {
  const outcome = readableOutcome(recorded); // an outcome on record is as the tool answered it
  const open = openRequestOf(outcome);
  const { text, content } = renderOutcome(outcome, { tool, readOn, isProgram: true });
  const { status, structured, artifact, files, summary, preview, notes, marks, refusal, replayed } = outcome;
  return {
    ...{ status, call_id: outcome.callId },
    content: content.map((block) => toSnakeCase(block, blockOpaque) as JsonObject), // a block is plain JSON
    ...{ text, structured, artifact, summary, notes, marks, refusal, replayed },
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

/** @param approval the one that it needed, as it is now */
export function callToWire(row: CallRecord, approval: ApprovalRecord | undefined): Input<typeof callSchema> {
  const { call, risk, outcome, ...record } = row;
  const { tool, action, arguments: given, parentId, idempotencyKey, arrivedAt, authority } = call;
  const { approvalId, startedAt, endedAt } = record;
  const { runId, traceId, taskId, stepId } = authority;
  return {
    ...record,
    ...toSnakeCase({ runId, traceId, taskId, stepId, parentId, idempotencyKey, approvalId }, noOpaqueFields),
    ...toSnakeCase({ arrivedAt, startedAt, endedAt }, noOpaqueFields),
    ...{ tool, action, arguments: given },
    call_id: call.id,
    arguments_digest: call.digest,
    requested_by: authority.principal,
    autonomy_level: authority.autonomy,
    risk_level: risk,
    durations: durationsOf(row, approval),
    outcome: outcome && outcomeToWire(outcome, tool),
  };
}

export function chainToWire(chain: ChainSummary): Input<typeof chainSchema> {
  return { ...toSnakeCase(chain, noOpaqueFields), requested_by: chain.principal };
}

/** Of a tool as it is offered: whether it works now is no part of it. */
export function toolToWire({ name, facts, ...offer }: Offer): Input<typeof toolSchema> {
  const { ui, inputSchema, outputSchema, providerSpecs, ...flat } = offer;
  const { toolType, callTypes, requireIdempotencyKey, concurrencySafe, timeoutMs, approvalTtlMs } = offer;
  const { guess, openWorld = false, riskSource } = facts;
  return {
    ...flat,
    ...facts,
    ...toSnakeCase({ toolType, callTypes, requireIdempotencyKey, concurrencySafe }, noOpaqueFields),
    ...toSnakeCase({ timeoutMs, approvalTtlMs, openWorld, riskSource, guess }, noOpaqueFields),
    action: name,
    input_schema: inputSchema,
    output_schema: outputSchema,
    provider_specs: providerSpecs,
    ui: ui && { ...ui, resource_uri: ui.resourceUri, prefers_border: ui.prefersBorder },
  };
}

export function serverToWire({ onDemand, signInNeeded, ...server }: UpstreamHealth): Input<typeof serverHealth> {
  return {
    ...server,
    refused: [...server.refused],
    changes: [...server.changes],
    on_demand: onDemand,
    sign_in_needed: signInNeeded,
  };
}

export function toolChangesToWire({ pinned, offered, ...changes }: ToolChanges): Input<typeof toolChanges> {
  return {
    ...changes,
    pinned: pinned && { ...pinned, definition: pinned.digest },
    offered: offered && { ...offered, definition: offered.digest },
  };
}

/** @param isForPerson also what people remembered and why it no longer counts; an agent learns only the verdict */
export function explanationToWire(explanation: Explanation, isForPerson = true): Input<typeof explanationSchema> {
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
  const shown = decisionToWire(isForPerson ? decision : { ...decision, reasons: counting });
  return { reached: "verdict", recorded, decision: shown, facts: { ...facts, risk_source: facts.riskSource }, summary };
}

export function decisionToWire(decision: Decision): Input<typeof decisionSchema> {
  const { policyVersion: policy_version, missingScope: missing_scope, grant: grant_id } = decision;
  return { ...decision, policy_version, missing_scope, grant_id };
}

type ChangeInput = Input<typeof policy.simulate.answer>["changes"][number];

export function verdictChangeToWire({ callId, runId, principal, approvalId, ...change }: VerdictChange): ChangeInput {
  const [before, after] = [decisionToWire(change.before), decisionToWire(change.after)];
  const ids = { call_id: callId, run_id: runId, approval_id: approvalId };
  return { ...change, ...ids, requested_by: principal, before, after };
}

export function verdictGroupsToWire(groups: readonly VerdictGroup[]): Input<typeof policy.simulate.answer>["groups"] {
  return groups.map((group) => ({ ...group, example: verdictChangeToWire(group.example) }));
}

/** All that an operator may want to know of skills, without their instructions. */
export function skillsToWire(skills: Skills | undefined): Input<typeof skillListSchema> {
  if (skills === undefined) return { skills: [], refused: [], notes: [] };
  const { refused, notes } = skills;
  const listed = skills.list().map((skill) => {
    const warnings = [...skill.warnings, ...unknownToolWarnings(skill, skills.unknownTools(skill))];
    return { ...skill, allowed_tools: skill.allowedTools, warnings };
  });
  return { skills: listed, refused, notes };
}

/** As a client reads it. */
export function shownApproval(record: ApprovalRecord): ApprovalView {
  return shape(approvalSchema, approvalToWire(record));
}

/** @param requirement what a decision needs now; default: what it needed when it was asked */
export function approvalToWire(
  record: ApprovalRecord,
  requirement: Routed = record.routed ?? unrouted,
  viewer?: ViewerInput,
): Input<typeof approvalSchema> {
  const { id, tool, action, arguments: runs, artifacts, preview, askedPreview, votes = [] } = record;
  const { expiresAt, traceId, previewDigest, policyVersion, runCalls, remindedAt, escalatedAt } = record;
  return {
    ...record,
    ...toSnakeCase({ expiresAt, traceId, previewDigest, policyVersion, runCalls }, noOpaqueFields),
    ...toSnakeCase({ remindedAt, escalatedAt }, noOpaqueFields),
    approval_id: id,
    status: record.state,
    created_at: record.requestedAt,
    refs: { run: record.runId, key: record.key },
    requested_by: record.principal,
    risk_level: record.risk,
    autonomy_level: record.autonomy,
    what: { tool, action, arguments: runs, artifacts: toSnakeCase(artifacts, noOpaqueFields) },
    asked: isEdited(record) ? record.asked : undefined,
    asked_preview: askedPreview && previewToWire(askedPreview),
    preview: preview && previewToWire(preview),
    preview_binds: preview && record.previewBinds,
    digest: digestOf(runs),
    shown_digest: shownDigest(record),
    routed: toSnakeCase(requirement, noOpaqueFields),
    votes,
    quorum_left: record.state === "pending" ? votesLeft(record, requirement.quorum) : 0,
    remembers_allowed: requirement.remembers,
    on_expiry: "denied",
    how_to_approve: `POST /v1/approvals/${id}/approve`,
    viewer,
  };
}

function isEdited({ asked, arguments: runs, decision }: ApprovalRecord): boolean {
  return decision?.as === "modified" || JSON.stringify(asked) !== JSON.stringify(runs);
}

export function grantToWire(one: Grant, status: GrantState, silent?: string): Input<typeof grantSchema> {
  const { tool, action, arguments: conditions, runId, approvalId, lastUsedAt } = one;
  return {
    ...one,
    ...toSnakeCase({ runId, approvalId, lastUsedAt }, noOpaqueFields),
    grant_id: one.id,
    ...{ status, silent },
    scope: { tool, action, arguments: conditions && (toSnakeCase(conditions, policyOpaque) as JsonObject) }, // conditions are plain JSON
    granted_to: one.principal,
    risk_level: one.risk,
    answers: one.asks,
  };
}

export function candidateToWire({ at, id, decision, ...record }: CandidateRecord): Input<typeof candidateSchema> {
  const { at: decided_at, by: decided_by, ...decided } = decision ?? {};
  const same = toSnakeCase({ ...record, ...decided }, noOpaqueFields);
  return { ...same, candidate_id: id, proposed_at: at, decided_at, decided_by };
}

export function alarmToWire({ id, key, firstSeen, lastSeen, ...alarm }: Alarm): Input<typeof alarmSchema> {
  return { ...alarm, alarm_id: id, dedupe_key: key, first_seen: firstSeen, last_seen: lastSeen };
}

export function channelToWire({ dead, lastDeliveredAt, ...state }: ChannelState): Input<typeof channelSchema> {
  const letters = dead.map(({ seq, ...letter }) => ({ ...letter, entry: seq }));
  return { ...state, last_delivered_at: lastDeliveredAt, dead: letters };
}

/** @param tenant whose pauses are shown */
export function controlsToWire(state: ControlState, tenant: string): Input<typeof controlState> {
  const { paused, pausedBy, autonomy = null, offTools, offServers, pauses = [] } = state;
  return {
    ...{ paused, paused_by: paused ? pausedBy : undefined, autonomy, off_tools: offTools, off_servers: offServers },
    pauses: pauses.filter((one) => one.tenant === tenant),
  };
}

export function verificationToWire(found: Verification): Input<typeof verification> {
  return found.intact ? found : { ...found, first_broken: found.firstBroken };
}

export function feedEventToWire({ tenant: _tenant, user: _user, ...event }: FeedEvent): Input<typeof feedEvent> {
  return toSnakeCase(event, feedOpaque);
}

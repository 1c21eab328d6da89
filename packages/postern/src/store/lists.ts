/**
 * The lists of `Store`, for a store that has all its rows at hand. A store that queries a database follows the same rules
 * with urgency.ts, audience.ts and references.ts.
 */
import type { ApprovalRecord, ApprovalState, CallRecord, ToolCall } from "@postern/core";
import { isForeign } from "../call/authority.ts";
import { audienceKey } from "./audience.ts";
import { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "./references.ts";
import type { ApprovalFilter, AudienceFilter, CallFilter, WaitingAudience, WaitingFilter } from "./store.ts";
import { callStateAt, placeOfCursor, requestStateAt, urgencyOf } from "./urgency.ts";

/**
 * What a list of calls is filtered by. A store may keep the rest of a row in another form.
 *
 * @public
 */
export interface ListedCall extends Pick<CallRecord, "state" | "aliveUntil"> {
  readonly call: Pick<ToolCall, "id" | "authority" | "parentId" | "tool">;
}

/** The answer of `Store.calls`, from rows in any order. */
export function callsIn<Row extends ListedCall>(rows: Iterable<Row>, where: CallFilter, now: number): readonly Row[] {
  const { state, tool, tenant, runId, parentId, before, limit = Infinity } = where;
  const found: Row[] = [];
  for (const row of rows) {
    const { id, authority, parentId: parent, tool: name } = row.call;
    if (parentId !== undefined && parent !== parentId) continue;
    if (runId !== undefined && authority.runId !== runId) continue;
    if (tenant !== undefined && authority.principal.tenant !== tenant) continue;
    if ((tool !== undefined && name !== tool) || (before !== undefined && id >= before)) continue;
    if (state === undefined || callStateAt(row, now) === state) found.push(row);
  }
  return found.sort((a, b) => (a.call.id < b.call.id ? 1 : -1)).slice(0, limit);
}

/** The answer of `Store.approvals`, from all requests, the oldest first. */
export function approvalsIn(
  rows: readonly ApprovalRecord[],
  where: AudienceFilter,
  now: number,
): readonly ApprovalRecord[] {
  const { state, risk, after, audiences, limit = Infinity } = where;
  const isUrgent = state === "pending";
  const all = state === "decided" ? rows.toReversed() : rows;
  const behind = after === undefined ? all.slice() : all.filter(isBehind(after, all, isUrgent));
  if (isUrgent) behind.sort((a, b) => urgencyOf(a) - urgencyOf(b)); // stable: equal ones stay from old to new
  return behind
    .filter((approval) => isOf(state, isUrgent ? approval.state : requestStateAt(approval, now)))
    .filter((approval) => risk === undefined || approval.risk === risk)
    .filter(fitting(where))
    .filter((approval) => audiences === undefined || audiences.includes(audienceKey(approval)))
    .slice(0, limit);
}

/** The answer of `Store.audiences`, from all requests. */
export function audiencesIn(
  rows: readonly ApprovalRecord[],
  where: WaitingFilter,
  now: number,
): readonly WaitingAudience[] {
  const found = new Map<string, WaitingAudience>();
  for (const audience of rows.filter(({ state }) => state === "pending").filter(fitting(where))) {
    const key = audienceKey(audience);
    const others = found.get(key)?.waiting ?? 0;
    found.set(key, { key, audience, waiting: others + (audience.expiresAt > now ? 1 : 0) });
  }
  return [...found.values()];
}

/** The digests of all artifacts that these rows still need: `Store.needed` answers with those of them that it was asked for. */
export function artifactsNeededBy(
  calls: readonly CallRecord[],
  approvals: readonly ApprovalRecord[],
  now: number,
): ReadonlySet<string> {
  const ran = calls.filter((record) => callNeedsArtifacts(record, now));
  const open = approvals.filter((approval) => requestNeedsArtifacts(approval, now));
  const texts = ran.flatMap(({ call, outcome = null }) => [call.text, JSON.stringify(outcome)]);
  return new Set([...texts, ...open.map((approval) => JSON.stringify(approval))].flatMap(artifactDigestsIn));
}

function fitting(where: WaitingFilter): (approval: ApprovalRecord) => boolean {
  const { tenant, tool, runId, agent, principal } = where;
  return (approval) =>
    (tenant === undefined || approval.principal.tenant === tenant) &&
    (agent === undefined || approval.principal.agent === agent) &&
    (tool === undefined || approval.tool === tool) &&
    (runId === undefined || approval.runId === runId) &&
    !isForeign(approval.principal, principal);
}

function isOf(wanted: ApprovalFilter["state"], state: ApprovalState): boolean {
  return wanted === undefined || (wanted === "decided" ? state !== "pending" : state === wanted);
}

/** Whether a request comes after the place of the cursor. `all` is in the order of the list, apart from urgency. */
function isBehind(
  cursor: string,
  all: readonly ApprovalRecord[],
  isUrgent: boolean,
): (approval: ApprovalRecord, i: number) => boolean {
  const place = placeOfCursor(cursor);
  const at = all.findIndex(({ id }) => id === place?.id);
  const here = all[at];
  if (here === undefined) return () => false;
  if (!isUrgent) return (_, i) => i > at;
  const urgency = place?.urgency ?? urgencyOf(here);
  return (approval, i) => urgencyOf(approval) > urgency || (urgencyOf(approval) === urgency && i > at);
}

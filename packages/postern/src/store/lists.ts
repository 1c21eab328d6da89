/**
 * The lists of `Store`, for a store that has all its rows at hand. A store that queries a database follows the same rules
 * with urgency.ts, audience.ts and references.ts.
 */
import {
  type ApprovalRecord,
  type ApprovalState,
  approvalStates,
  type CallRecord,
  leastCallIdAt,
  type ToolCall,
} from "@postern/core";
import { isForeign } from "../call/authority.ts";
import { audienceKey } from "./audience.ts";
import { artifactDigestsIn, callNeedsArtifacts, requestNeedsArtifacts } from "./references.ts";
import { callText, mayMention, mentions, requestText, wordsOf } from "./search-text.ts";
import type {
  ApprovalFilter,
  AudienceFilter,
  CallFilter,
  GroupFilter,
  RequestCounts,
  SharedMember,
  WaitingAudience,
  WaitingFilter,
  WaitingGroup,
} from "./store.ts";
import {
  callStateAt,
  partOf,
  placeOf,
  placeOfCursor,
  requestStateAt,
  soonUntilOf,
  type WaitingPart,
} from "./urgency.ts";

/**
 * What a list of calls is filtered by. A store may keep the rest of a row in another form.
 *
 * @public
 */
export interface ListedCall extends Pick<CallRecord, "key" | "state" | "aliveUntil"> {
  readonly call: Pick<ToolCall, "id" | "authority" | "parentId" | "tool" | "action" | "text">;
}

/** The answer of `Store.calls`, from rows in any order. */
export function callsIn<Row extends ListedCall>(rows: Iterable<Row>, where: CallFilter, now: number): readonly Row[] {
  const { keys, state, tool, tenant, runId, parentId, search, since, before, limit = Infinity } = where;
  const least = since === undefined ? "" : leastCallIdAt(since);
  const wanted = keys && new Set(keys);
  const words = search === undefined ? undefined : wordsOf(search);
  const found: Row[] = [];
  for (const row of rows) {
    const { id, authority, parentId: parent, tool: name } = row.call;
    if (wanted?.has(row.key) === false) continue;
    if (parentId !== undefined && parent !== parentId) continue;
    if (runId !== undefined && authority.runId !== runId) continue;
    if (tenant !== undefined && authority.principal.tenant !== tenant) continue;
    if ((tool !== undefined && name !== tool) || (before !== undefined && id >= before)) continue;
    if (id < least) continue;
    if (words !== undefined && !mentionsCall(row, words)) continue;
    if (state === undefined || callStateAt(row, now) === state) found.push(row);
  }
  return found.sort((a, b) => (a.call.id < b.call.id ? 1 : -1)).slice(0, limit);
}

/** The JSON of the arguments is read only if the words may be in it. */
function mentionsCall({ call }: ListedCall, words: readonly string[]): boolean {
  const { id, tool, action, authority, text } = call;
  const { agent, user = "" } = authority.principal;
  const names = JSON.stringify([id, tool, action, agent, user, authority.runId]);
  return mayMention(names + text, words) && mentions(callText({ ...call, arguments: JSON.parse(text) }), words);
}

/** The answer of `Store.approvals`, from all requests, the oldest first. */
export function approvalsIn(
  rows: readonly ApprovalRecord[],
  where: AudienceFilter,
  now: number,
): readonly ApprovalRecord[] {
  const { state, limit = Infinity } = where;
  const numbered = rows.map((approval, number) => ({ approval, number }));
  if (state === "pending") return waitingIn(numbered, where, now).slice(0, limit);
  const all = state === "decided" ? numbered.reverse() : numbered;
  const id = where.after === undefined ? undefined : placeOfCursor(where.after)?.id;
  const at = all.findIndex(({ approval }) => approval.id === id);
  if (where.after !== undefined && at === -1) return [];
  const isWanted = fitting(where);
  const found: ApprovalRecord[] = [];
  for (const { approval } of all.slice(at + 1)) {
    if (found.length >= limit) break;
    if (isOf(state, requestStateAt(approval, now)) && isWanted(approval)) found.push(approval);
  }
  return found;
}

interface NumberedApproval {
  readonly approval: ApprovalRecord;
  /** Its place in the order in which requests came. */
  readonly number: number;
}

/** Pending requests in the order of urgency.ts, after the cursor. */
function waitingIn(rows: readonly NumberedApproval[], where: AudienceFilter, now: number): readonly ApprovalRecord[] {
  const { after, soonUntil = soonUntilOf(after, now) } = where;
  const from = after === undefined ? undefined : placeIn(rows, after, soonUntil);
  if (after !== undefined && from === undefined) return [];
  const isWanted = fitting(where);
  const wanted = rows.filter(({ approval }) => approval.state === "pending" && isWanted(approval));
  const places = wanted.map(({ approval, number }) => ({
    approval,
    place: waitingPlace(approval, number, partOf(approval, soonUntil)),
  }));
  const behind = from === undefined ? places : places.filter(({ place }) => comparePlaces(place, from) > 0);
  return behind.sort((a, b) => comparePlaces(a.place, b.place)).map(({ approval }) => approval);
}

/** Numbers to compare one after another: the part, the place in it, and the order of arrival. */
type ComparedPlace = readonly [isLater: number, place: number, number: number];

function waitingPlace({ expiresAt }: ApprovalRecord, number: number, part: WaitingPart): ComparedPlace {
  return part === "soon" ? [0, expiresAt, number] : [1, placeOf(part, number), number];
}

function comparePlaces(a: ComparedPlace, b: ComparedPlace): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function placeIn(rows: readonly NumberedApproval[], after: string, soonUntil: number): ComparedPlace | undefined {
  const place = placeOfCursor(after);
  const found = rows.find(({ approval }) => approval.id === place?.id);
  if (found === undefined) return undefined;
  return waitingPlace(found.approval, found.number, place?.part ?? partOf(found.approval, soonUntil));
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

/** The answer of `Store.groups`, from all requests, the oldest first. */
export function groupsIn(rows: readonly ApprovalRecord[], where: GroupFilter, now: number): readonly WaitingGroup[] {
  const { by, limit = Infinity } = where;
  const found = new Map<string, WaitingGroup>();
  for (const approval of rows.filter(({ state }) => state === "pending").filter(fitting(where))) {
    const { risk, tool, runId, principal, requestedAt } = approval;
    const all = { risk, tool, runId, agent: principal.agent };
    const key = JSON.stringify(by.map((member) => all[member]));
    const known = found.get(key);
    found.set(key, {
      ...Object.fromEntries(by.map((member) => [member, all[member]])),
      waiting: (known?.waiting ?? 0) + (approval.expiresAt > now ? 1 : 0),
      oldestAt: known?.oldestAt ?? requestedAt,
      newestAt: requestedAt,
    });
  }
  return [...found.values()]
    .filter(({ waiting }) => waiting > 0)
    .sort((a, b) => compareGroups(a, b, by))
    .slice(0, limit);
}

/** The largest first, then by their members, in the order of code units. */
export function compareGroups(a: WaitingGroup, b: WaitingGroup, by: readonly SharedMember[]): number {
  if (a.waiting !== b.waiting) return b.waiting - a.waiting;
  const differing = by.find((member) => a[member] !== b[member]);
  if (differing === undefined) return 0;
  return (a[differing] ?? "") < (b[differing] ?? "") ? -1 : 1;
}

/** The answer of `Store.counts`, from all requests and the states of all calls. */
export function countsIn(
  approvals: Iterable<ApprovalRecord>,
  calls: Iterable<ListedCall>,
  { tenant }: Pick<ApprovalFilter, "tenant">,
  now: number,
): RequestCounts {
  const requests = noRequests();
  for (const approval of approvals)
    if (tenant === undefined || approval.principal.tenant === tenant) requests[requestStateAt(approval, now)] += 1;
  let unknownCalls = 0;
  for (const { state, call } of calls)
    if (state === "unknown" && (tenant === undefined || call.authority.principal.tenant === tenant)) unknownCalls += 1;
  return { requests, unknownCalls };
}

/** Zero in each state. */
export function noRequests(): Record<ApprovalState, number> {
  // The keys are all states.
  return Object.fromEntries(approvalStates.map((state) => [state, 0])) as Record<ApprovalState, number>;
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

function fitting(where: AudienceFilter): (approval: ApprovalRecord) => boolean {
  const { tenant, risk, tool, runId, agent, principal, audiences, search } = where;
  const words = search === undefined ? undefined : wordsOf(search);
  const keys = audiences && new Set(audiences);
  return (approval) =>
    (tenant === undefined || approval.principal.tenant === tenant) &&
    (agent === undefined || approval.principal.agent === agent) &&
    (risk === undefined || approval.risk === risk) &&
    (tool === undefined || approval.tool === tool) &&
    (runId === undefined || approval.runId === runId) &&
    !isForeign(approval.principal, principal) &&
    (keys === undefined || keys.has(audienceKey(approval))) &&
    (words === undefined || mentions(searchedTextOf(approval), words));
}

const searchedTexts = new WeakMap<ApprovalRecord, string>();

function searchedTextOf(approval: ApprovalRecord): string {
  const known = searchedTexts.get(approval);
  if (known !== undefined) return known;
  const text = requestText(approval);
  searchedTexts.set(approval, text);
  return text;
}

function isOf(wanted: ApprovalFilter["state"], state: ApprovalState): boolean {
  return wanted === undefined || (wanted === "decided" ? state !== "pending" : state === wanted);
}

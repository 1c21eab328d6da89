import {
  type CallRecord,
  type Clock,
  isNamedBy,
  type ModelCall,
  modelCallOf,
  type Principal,
  shown,
  statedRunOf,
  type ToolCall,
  type ToolOutcome,
} from "@postern/core";
import { type Ending, refuse } from "../../call/ending.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { EqualCall } from "../../store/equal-calls.ts";
import type { Ledger } from "../ledger.ts";
import { type CallNames, namesOf } from "./call-names.ts";
import type { FreshCall, WeighedCall } from "./stages.ts";

export interface OnceParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
}

/**
 * Finds out whether this call is known, and whether it has ended. Its key is the caller's key; without one, the key of
 * the row that answers an equal call (store/equal-calls.ts has the table); else its own. A finished call is never approved
 * twice.
 */
export async function once(call: WeighedCall, parts: OnceParts): Promise<FreshCall | Ending> {
  const { idempotencyKey, resumes, found } = call;
  if (
    found.requireIdempotencyKey &&
    idempotencyKey === undefined &&
    resumes === undefined &&
    found.facts.effects !== "read"
  ) {
    return refuse(
      "key_required",
      `\`${call.tool}\` needs an idempotency key; send one that is the same for every attempt of this call.`,
    );
  }
  const names = namesOf(call);
  return replayOrContinue(call, await findRecord(call, names, parts.ledger), names, parts);
}

/** The row of this call, by its key or as the row that answers an equal call. */
async function findRecord(call: WeighedCall, names: CallNames, ledger: Ledger): Promise<CallRecord | undefined> {
  const modelCall = modelCallOf(call);
  const equal = equalOf(call, names);
  if (equal === undefined || modelCall === undefined) return ledger.find(equal ?? { key: names.key });
  return (await ledger.find({ key: names.key })) ?? joinEqual({ ...equal, modelCall }, ledger);
}

/** The row that would answer the call now. The call does not join it, so nothing is written. */
export async function recordOf(call: WeighedCall, ledger: Ledger): Promise<CallRecord | undefined> {
  const names = namesOf(call);
  const equal = equalOf(call, names);
  return (await ledger.find({ key: names.key })) ?? (equal && ledger.find(equal));
}

/** Undefined for a call that is found by its key alone. */
function equalOf(call: WeighedCall, { match }: CallNames): EqualCall | undefined {
  const { resumes, idempotencyKey, batch } = call;
  if (resumes !== undefined || idempotencyKey !== undefined || match === undefined) return undefined;
  return { match, runId: statedRunOf(call.authority), modelCall: modelCallOf(call), except: batch };
}

/**
 * The row that answers an equal call of an earlier turn, after the call has joined it: equal calls of one turn that
 * arrive together join different rows, and a call that is sent again finds its row.
 */
async function joinEqual(
  equal: EqualCall & { readonly modelCall: ModelCall },
  ledger: Ledger,
): Promise<CallRecord | undefined> {
  for (;;) {
    const row = await ledger.find(equal);
    if (row === undefined || row.state === "unknown" || row.call.idempotencyKey !== undefined) return row;
    if (isNamedBy(row, equal.modelCall)) return row;
    await ledger.join(row.key, equal.modelCall); // a loser finds another row, or none
  }
}

async function replayOrContinue(
  call: WeighedCall,
  prior: CallRecord | undefined,
  own: CallNames,
  parts: OnceParts,
): Promise<FreshCall | Ending> {
  call.batch?.add(prior?.key ?? own.key);
  if (prior === undefined) return toFresh(call, own.key, own.match, undefined);
  if (prior.erasedAt !== undefined) return goneResult(prior.call);
  if (call.resumes === undefined && !isSame(prior.call, call)) return conflict(call, prior.call);
  if (call.resumesBy !== undefined && call.resumesBy !== prior.approvalId)
    return replacedRequest(call.resumesBy, prior);
  const { key, match = own.match } = prior;
  return (await replay(prior, parts)) ?? toFresh(call, key, match, prior);
}

function conflict({ idempotencyKey, tool }: ToolCall, prior: ToolCall): Ending {
  if (idempotencyKey === undefined) return refuse("idempotency_conflict");
  const other = prior.tool === tool ? "with other arguments" : `for \`${prior.tool}\``;
  return refuse(
    "idempotency_conflict",
    `The idempotency key ${shown(idempotencyKey)} was used ${other} by the call \`${prior.id}\`; send another call with a key of its own.`,
    { call_id: prior.id },
  );
}

function toFresh(call: WeighedCall, key: string, match: string | undefined, record: CallRecord | undefined): FreshCall {
  return { ...call, key, match, record } as FreshCall;
}

/** A script's call is found by its number alone, so that another tool under that number is a conflict and not a new call. */
function isSame(prior: ToolCall, { digest, tool, action }: ToolCall): boolean {
  return prior.digest === digest && prior.tool === tool && prior.action === action;
}

type ReplayParts = Pick<OnceParts, "clock" | "artifacts">;

/** The ending that a record gives to a later call. Returns undefined if the call may continue. `claim` uses it too. */
export async function replay(record: CallRecord | undefined, parts: ReplayParts): Promise<Ending | undefined> {
  switch (record?.state) {
    case "ok":
      return replayOutcome(record, parts);
    case "denied":
      return isOver(record, parts.clock.now()) ? undefined : replayOutcome(record, parts);
    case "failed":
      return record.retryable ? undefined : replayOutcome(record, parts);
    case "attempted":
    case "queued":
      return inProgress(record);
    case "unknown":
      return record.idempotent || record.retryable ? undefined : unknownOutcome(record);
    case "held":
    case "suspended":
    case undefined:
      return undefined;
  }
}

/** The call has a newer request: the old one cannot be resumed, and the new one stays as it is. */
function replacedRequest(approvalId: string, { approvalId: newer }: CallRecord): Ending {
  const now = newer === undefined ? "" : ` A newer request was made for its call: \`${newer}\`; resume that one.`;
  return refuse("approval_expired", `The approval \`${approvalId}\` is over.${now}`);
}

function isOver({ aliveUntil }: CallRecord, now: number): boolean {
  return aliveUntil !== undefined && aliveUntil <= now;
}

/** A call without a key would run again if it is sent after the first one has ended; the message says so. */
export function inProgress(record: CallRecord | undefined): Ending {
  if (record === undefined) return refuse("in_progress");
  const { call, aliveUntil } = record;
  const isFoundLater = call.idempotencyKey !== undefined || aliveUntil !== undefined;
  const message = isFoundLater
    ? `The same call, \`${call.id}\`, is running now; send it again later for its outcome.`
    : `The same call, \`${call.id}\`, is running now, so this one was not run. Check how that one ended before you send it again: without an idempotency key it would run a second time.`;
  return refuse("in_progress", message, { call_id: call.id });
}

function unknownOutcome({ call }: CallRecord): Ending {
  const message = `The same call, \`${call.id}\`, may have happened; its outcome is unknown. Check before you repeat it; an operator can settle it.`;
  return refuse("outcome_unknown", message, { call_id: call.id });
}

function goneResult({ id }: ToolCall): Ending {
  return refuse(
    "result_unavailable",
    `The call \`${id}\` has ended and is not run again; its result is no longer kept.`,
    { call_id: id },
  );
}

async function replayOutcome({ outcome, call, key }: CallRecord, parts: ReplayParts): Promise<Ending> {
  const gone = goneResult(call);
  if (outcome === undefined) return gone;
  const end: Ending = { ending: "replayed", outcome, key };
  if (outcome.artifact === undefined && outcome.files === undefined) return end;
  const { principal } = call.authority;
  return (await hasAllArtifacts(outcome, principal, parts.artifacts)) ? end : gone;
}

/** Whether all artifacts of the outcome are still there. */
async function hasAllArtifacts(
  { artifact, files = [] }: ToolOutcome,
  principal: Principal,
  artifacts: ArtifactStore,
): Promise<boolean> {
  const kept = files.map((file) => file.artifact);
  for (const digest of artifact === undefined ? kept : [artifact, ...kept])
    if (!(await artifacts.mayUse(digest, principal))) return false;
  return true;
}

import type { Principal } from "../calls/call.ts";
import type { Clock } from "../calls/clock.ts";
import { type Ending, refuse } from "../calls/ending.ts";
import { sha256 } from "../calls/json.ts";
import type { CallRecord } from "../calls/records.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { FreshCall, WeighedCall } from "./stages.ts";

export interface OnceParts {
  readonly ledger: Ledger;
  readonly clock: Clock;
}

/**
 * Which call is this, and has it ended? The key is the caller's; without one it is that of a live call with the same
 * principal, tool and arguments; else it is the call's own id (D23). Finished work never asks a person again (D2).
 */
export function once(call: WeighedCall, parts: OnceParts): FreshCall | Ending | Promise<FreshCall | Ending> {
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
  const who = whoAndWhat(call.authority.principal, call.tool, call.action);
  const match = `${who}\0${call.digest}`;
  const key =
    resumes ?? (idempotencyKey === undefined ? call.id : `key_${sha256(`${who}\0${idempotencyKey}`).slice(0, 40)}`);
  // An arrival that waited and enters again has its own id as key: it is found by that, also after an edit.
  const record = parts.ledger.find(resumes === undefined && idempotencyKey === undefined ? { match } : { key });
  if (record instanceof Promise) return record.then((late) => judge(call, late, { key, match }, parts));
  return judge(call, record, { key, match }, parts);
}

function judge(
  call: WeighedCall,
  prior: CallRecord | undefined,
  own: { readonly key: string; readonly match: string },
  parts: OnceParts,
): FreshCall | Ending {
  if (prior === undefined) return Object.assign(call, { key: own.key, match: own.match, record: prior }) as FreshCall;
  if (call.resumes === undefined && prior.call.digest !== call.digest) return refuse("idempotency_conflict");
  const { key, match = own.match } = prior;
  return replay(prior, parts.clock.now()) ?? (Object.assign(call, { key, match, record: prior }) as FreshCall);
}

/** Names cannot hold NUL (runtime.ts checks principals, registration tools), so this is unambiguous. */
function whoAndWhat({ tenant, agent, user = "" }: Principal, tool: string, action: string): string {
  return `${tenant}\0${agent}\0${user}\0${tool}\0${action}`;
}

/** What a record answers to whoever comes later; undefined: the call may go on. The claim asks the same, for racers. */
export function replay(record: CallRecord, now: number): Ending | undefined {
  switch (record.state) {
    case "ok":
      return replayed(record);
    case "denied":
      return record.aliveUntil !== undefined && record.aliveUntil <= now ? undefined : replayed(record);
    case "failed":
      return record.retryable ? undefined : replayed(record);
    case "attempted":
    case "queued":
      return refuse("in_progress", undefined, { call_id: record.call.id });
    case "unknown":
      return record.idempotent || record.retryable ? undefined : unsettled(record);
    case "held":
    case "suspended":
      return undefined;
  }
}

function unsettled({ call }: CallRecord): Ending {
  const said = `The same call, \`${call.id}\`, may have happened; nobody knows yet. Check before you repeat it: an operator can settle it.`;
  return refuse("outcome_unknown", said, { call_id: call.id });
}

function replayed(record: CallRecord): Ending {
  if (record.outcome === undefined) return refuse("result_unavailable");
  return { ending: "replayed", outcome: record.outcome };
}

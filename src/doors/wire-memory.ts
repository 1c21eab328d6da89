/** What agents proposed to remember, and what was decided on it, on the wire. */
import type { CandidateRecord, CandidateState } from "../tools/builtin/memory/candidate-desk.ts";
import { iso } from "./wire.ts";

export interface CandidateWire {
  readonly candidate_id: string;
  readonly state: CandidateState;
  readonly run_id: string;
  readonly call_id: string;
  readonly proposed_at: string;
  readonly agent: string;
  readonly user?: string | undefined;
  readonly scope: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly decided_at?: string | undefined;
  readonly decided_by?: string | undefined;
  readonly reason?: string | undefined;
  /** What the provider calls it. */
  readonly memory_id?: string | undefined;
  /** Whom the provider's own call waits for. */
  readonly approval_id?: string | undefined;
  readonly error?: string | undefined;
}

export function candidateToWire(record: CandidateRecord): CandidateWire {
  const { decision } = record;
  return {
    candidate_id: record.id,
    state: record.state,
    run_id: record.runId,
    call_id: record.callId,
    proposed_at: iso(record.at),
    agent: record.agent,
    user: record.user,
    scope: record.scope,
    content: record.content,
    tags: record.tags,
    decided_at: decision && iso(decision.at),
    decided_by: decision?.by,
    reason: decision?.reason,
    memory_id: decision?.memoryId,
    approval_id: decision?.approvalId,
    error: decision?.error,
  };
}

import { join } from "node:path";
import type { Json } from "../../core/json.ts";
import { objectIn } from "./candidates.ts";
import { appendLine, linesOf } from "./line-file.ts";

/**
 * What was decided on a candidate, in the order of its lines; the last one counts. `accepting` is written before the
 * provider is asked: when nothing follows it, nobody knows whether the memory was written.
 */
export type CandidateStep = "accepting" | "accepted" | "rejected" | "waiting" | "failed";

export interface DecisionLine {
  readonly candidateId: string;
  readonly step: CandidateStep;
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly by: string;
  readonly via?: string;
  readonly reason?: string;
  /** What the provider calls it. */
  readonly memoryId?: string;
  /** Whom the provider's own call waits for. */
  readonly approvalId?: string;
  readonly error?: string;
  /** Which try at accepting it. One that waited is the same when it goes on: so its calls are the same calls. */
  readonly attempt?: number;
}

export function decisionFile(folder: string): string {
  return join(folder, "archive", "memory-decisions.jsonl");
}

export function writeDecision(folder: string, line: DecisionLine): Promise<void> {
  const { candidateId, step, at, by, via, reason, memoryId, approvalId, error, attempt } = line;
  const kept = {
    candidate_id: candidateId,
    decision: step,
    at: new Date(at).toISOString(),
    by,
    via,
    reason,
    memory_id: memoryId,
    approval_id: approvalId,
    error,
    attempt,
  };
  return appendLine(decisionFile(folder), JSON.stringify(kept));
}

/** The last line of each candidate. */
export async function readDecisions(folder: string): Promise<ReadonlyMap<string, DecisionLine>> {
  const last = new Map<string, DecisionLine>();
  for await (const line of linesOf(decisionFile(folder))) {
    const decision = decisionIn(line);
    if (decision !== undefined) last.set(decision.candidateId, decision);
  }
  return last;
}

const steps: readonly CandidateStep[] = ["accepting", "accepted", "rejected", "waiting", "failed"];

function decisionIn(line: string): DecisionLine | undefined {
  const value = objectIn(line);
  const step = steps.find((known) => known === value?.["decision"]);
  if (value === undefined || step === undefined) return undefined;
  const { candidate_id: candidateId, at, by } = value;
  if (typeof candidateId !== "string" || typeof at !== "string" || typeof by !== "string") return undefined;
  return {
    candidateId,
    step,
    at: Date.parse(at),
    by,
    ...text("via", value["via"]),
    ...text("reason", value["reason"]),
    ...text("memoryId", value["memory_id"]),
    ...text("approvalId", value["approval_id"]),
    ...text("error", value["error"]),
    ...(typeof value["attempt"] === "number" && { attempt: value["attempt"] }),
  };
}

function text<Name extends string>(name: Name, value: Json | undefined): { readonly [N in Name]?: string } {
  return typeof value === "string" ? ({ [name]: value } as { readonly [N in Name]?: string }) : {}; // exactly that one member
}

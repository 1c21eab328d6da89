import { join } from "node:path";
import type { z } from "zod";
import type { Principal } from "../../core/call.ts";
import { digestOf, type JsonObject } from "../../core/json.ts";
import { lazySchema } from "../../core/zod.ts";

/** UTF-8 bytes, exclusive. */
export const mostContentBytes: number = 64 * 1024;
export const mostTags = 32;
export const mostTagCharacters = 64;

/** What an agent wants to have remembered, before a person has decided. */
export interface Candidate {
  /** Digest of all other fields that a person sees: accepting the id accepts exactly these. */
  readonly id: string;
  readonly runId: string;
  readonly agent: string;
  readonly user?: string;
  readonly scope: string;
  readonly content: string;
  readonly tags: readonly string[];
  /** First write: wall clock, milliseconds. */
  readonly at: number;
  readonly callId: string;
}

export type CandidateContent = Pick<Candidate, "scope" | "content" | "tags">;

/**
 * A line about a candidate; the last one counts. `accepting` is written before the provider is called: if no line follows,
 * it is unknown whether the memory was written.
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
  /** The id that the provider gave. */
  readonly memoryId?: string;
  /** The approval that the provider's own call waits for. */
  readonly approvalId?: string;
  readonly error?: string;
  /** Counts the acceptances. One that continues after a wait keeps its number, so its calls are the same calls. */
  readonly attempt?: number;
}

/** The lines of both files. */
const schemas = lazySchema((zod) => {
  const text = zod.string();
  const optional = text.exactOptional();
  return {
    candidate: zod.object({
      ...{ candidate_id: text, at: text, call_id: text, agent: text, user: optional, scope: text, content: text },
      tags: zod.array(text),
    }),
    decision: zod.object({
      ...{ candidate_id: text, decision: zod.enum(["accepting", "accepted", "rejected", "waiting", "failed"]) },
      ...{ at: text, by: text, via: optional, reason: optional, memory_id: optional, approval_id: optional },
      ...{ error: optional, attempt: zod.number().exactOptional() },
    }),
  };
});

/** The same content of the same agent in one run is one candidate, however often it is written. */
export function candidateId(owner: Principal, runId: string, { scope, content, tags }: CandidateContent): string {
  const { tenant, agent, user = null } = owner;
  return `mem_${digestOf({ tenant, agent, user, runId, scope, content, tags }).slice(0, 32)}`;
}

export function candidateFile(folder: string): string {
  return join(folder, "archive", "memory-candidates.jsonl");
}

export function decisionFile(folder: string): string {
  return join(folder, "archive", "memory-decisions.jsonl");
}

export function writeCandidate(folder: string, { id, runId, at, callId, ...rest }: Candidate): Promise<void> {
  const time = new Date(at).toISOString();
  return append(candidateFile(folder), { candidate_id: id, at: time, run_id: runId, call_id: callId, ...rest });
}

export function writeDecision(folder: string, line: DecisionLine): Promise<void> {
  const { candidateId: candidate_id, step, at, memoryId, approvalId, ...rest } = line;
  return append(decisionFile(folder), {
    ...{ candidate_id, decision: step, at: new Date(at).toISOString(), ...rest },
    ...(memoryId !== undefined && { memory_id: memoryId }),
    ...(approvalId !== undefined && { approval_id: approvalId }),
  });
}

/** In the order of their first write. A line that `writeCandidate` did not write for this run is skipped. */
export async function readCandidates(folder: string, tenant: string, runId: string): Promise<readonly Candidate[]> {
  const found = new Map<string, Candidate>();
  for (const { candidate_id: id, at, call_id: callId, ...rest } of await read(
    candidateFile(folder),
    schemas().candidate,
  )) {
    if (!found.has(id) && candidateId({ tenant, ...rest }, runId, rest) === id)
      found.set(id, { id, runId, at: Date.parse(at), callId, ...rest });
  }
  return [...found.values()];
}

/** The last line of each candidate. */
export async function readDecisions(folder: string): Promise<ReadonlyMap<string, DecisionLine>> {
  const last = new Map<string, DecisionLine>();
  for (const line of await read(decisionFile(folder), schemas().decision)) {
    const { candidate_id: id, decision: step, at, memory_id: memoryId, approval_id: approvalId, ...rest } = line;
    last.set(id, {
      ...{ candidateId: id, step, at: Date.parse(at), ...rest },
      ...(memoryId !== undefined && { memoryId }),
      ...(approvalId !== undefined && { approvalId }),
    });
  }
  return last;
}

async function append(path: string, line: JsonObject): Promise<void> {
  const { appendLine } = await import("../../core/system/line-file.ts"); // loaded when something is remembered
  return appendLine(path, JSON.stringify(line));
}

/** The lines that fit the schema. Other programs can write there, so other lines stay where they are. */
async function read<T>(path: string, schema: z.ZodType<T>): Promise<readonly T[]> {
  const { linesOf } = await import("../../core/system/line-file.ts");
  const found: T[] = [];
  for await (const line of linesOf(path)) {
    const parsed = schema.safeParse(jsonIn(line));
    if (parsed.success) found.push(parsed.data);
  }
  return found;
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // it fits no schema
  }
}

import { join } from "node:path";
import type { Principal } from "../../core/call.ts";
import { digestOf, isJsonObject, type Json } from "../../core/json.ts";

/** UTF-8 bytes, exclusive. */
export const mostContentBytes: number = 64 * 1024;
export const mostTags = 32;
export const mostTagCharacters = 64;

/** What an agent wants remembered, before a person has decided. */
export interface Candidate {
  /** Digest of everything below it: what a person accepts by its id is what was shown. */
  readonly id: string;
  readonly runId: string;
  readonly agent: string;
  readonly user?: string;
  readonly scope: string;
  readonly content: string;
  readonly tags: readonly string[];
  /** Of its first writing: wall clock, milliseconds. */
  readonly at: number;
  readonly callId: string;
}

export type CandidateWords = Pick<Candidate, "scope" | "content" | "tags">;

/** The same words of the same agent in one run are one candidate, however often they are written. */
export function candidateId(owner: Principal, runId: string, { scope, content, tags }: CandidateWords): string {
  const { tenant, agent, user = null } = owner;
  return `mem_${digestOf({ tenant, agent, user, runId, scope, content, tags }).slice(0, 32)}`;
}

export function candidateFile(folder: string): string {
  return join(folder, "archive", "memory-candidates.jsonl");
}

export async function writeCandidate(folder: string, candidate: Candidate): Promise<void> {
  const { appendLine } = await import("./line-file.ts"); // what reads and writes is loaded when something is remembered
  const { id, runId, agent, user, scope, content, tags, at, callId } = candidate;
  const line = {
    candidate_id: id,
    at: new Date(at).toISOString(),
    run_id: runId,
    call_id: callId,
    agent,
    ...(user !== undefined && { user }),
    scope,
    content,
    tags,
  };
  return appendLine(candidateFile(folder), JSON.stringify(line));
}

/** In the order of their first writing. A line that is not what `writeCandidate` wrote for this run is none. */
export async function readCandidates(folder: string, tenant: string, runId: string): Promise<readonly Candidate[]> {
  const { linesOf } = await import("./line-file.ts");
  const found = new Map<string, Candidate>();
  for await (const line of linesOf(candidateFile(folder))) {
    const candidate = candidateIn(line, tenant, runId);
    if (candidate !== undefined && !found.has(candidate.id)) found.set(candidate.id, candidate);
  }
  return [...found.values()];
}

function candidateIn(line: string, tenant: string, runId: string): Candidate | undefined {
  const value = objectIn(line);
  if (value === undefined) return undefined;
  const { candidate_id: id, at, call_id: callId, agent, user, scope, content, tags } = value;
  if (typeof id !== "string" || typeof at !== "string" || typeof callId !== "string") return undefined;
  if (typeof agent !== "string" || typeof scope !== "string" || typeof content !== "string") return undefined;
  if (!isTexts(tags) || !(user === undefined || typeof user === "string")) return undefined;
  const who = { agent, ...(user !== undefined && { user }) };
  const words = { scope, content, tags };
  if (candidateId({ tenant, ...who }, runId, words) !== id) return undefined;
  return { id, runId, ...who, ...words, at: Date.parse(at), callId };
}

export function objectIn(line: string): Readonly<Record<string, Json>> | undefined {
  try {
    const value: Json = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // somebody else's line: it is left where it is
  }
}

function isTexts(value: Json | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((one: Json) => typeof one === "string");
}

import { join } from "node:path";
import { type CamelCased, noOpaqueFields, type Principal, toCamelCase, toSnakeCase } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { z } from "zod";
import { lazySchema } from "../../checks/zod.ts";

/** UTF-8 bytes, exclusive. */
export const mostContentBytes: number = 64 * 1024;
export const mostTags = 32;
export const mostTagCharacters = 64;

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
      candidate_id: text,
      decision: zod.enum(["accepting", "accepted", "rejected", "waiting", "failed"]),
      ...{ at: text, by: text, via: optional, reason: optional, error: optional },
      memory_id: optional.describe("The id that the provider gave."),
      approval_id: optional.describe("The approval that the provider's own call waits for."),
      attempt: zod
        .number()
        .exactOptional()
        .describe(
          "Counts the acceptances. One that continues after a wait keeps its number, so its calls are the same calls.",
        ),
    }),
  };
});

type LineOf<Name extends keyof ReturnType<typeof schemas>> = CamelCased<z.output<ReturnType<typeof schemas>[Name]>>;

/** What an agent wants to have remembered, before a person has decided. */
export interface Candidate extends Omit<LineOf<"candidate">, "candidateId" | "at"> {
  /** Digest of all other fields that a person sees: accepting the id accepts exactly these. */
  readonly id: string;
  readonly runId: string;
  /** First write: wall clock, milliseconds. */
  readonly at: number;
}

export type CandidateContent = Pick<Candidate, "scope" | "content" | "tags">;

/**
 * A line about a candidate; the last one counts. `accepting` is written before the provider is called: if no line follows,
 * it is unknown whether the memory was written.
 */
export type CandidateStep = LineOf<"decision">["decision"];

export interface DecisionLine extends Omit<LineOf<"decision">, "decision" | "at"> {
  readonly step: CandidateStep;
  /** Wall clock, milliseconds. */
  readonly at: number;
}

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

export function writeCandidate(folder: string, { id, at, ...rest }: Candidate): Promise<void> {
  return append(candidateFile(folder), { candidateId: id, at: new Date(at).toISOString(), ...rest });
}

export function writeDecision(folder: string, { step, at, ...rest }: DecisionLine): Promise<void> {
  return append(decisionFile(folder), { decision: step, at: new Date(at).toISOString(), ...rest });
}

/** In the order of their first write. A line that `writeCandidate` did not write for this run is skipped. */
export async function readCandidates(folder: string, tenant: string, runId: string): Promise<readonly Candidate[]> {
  const found = new Map<string, Candidate>();
  for (const { candidateId: id, at, ...rest } of await read(candidateFile(folder), schemas().candidate))
    if (!found.has(id) && candidateId({ tenant, ...rest }, runId, rest) === id)
      found.set(id, { id, runId, at: Date.parse(at), ...rest });
  return [...found.values()];
}

/** The last line of each candidate. */
export async function readDecisions(folder: string): Promise<ReadonlyMap<string, DecisionLine>> {
  const lines = await read(decisionFile(folder), schemas().decision);
  return new Map(
    lines.map(({ decision: step, at, ...rest }) => [rest.candidateId, { ...rest, step, at: Date.parse(at) }]),
  );
}

async function append(path: string, line: object): Promise<void> {
  const { appendLine } = await import("../../system/line-file.ts"); // loaded when something is remembered
  return appendLine(path, JSON.stringify(toSnakeCase(line, noOpaqueFields)));
}

/** The lines that fit the schema. Other programs can write there, so other lines stay where they are. */
async function read<T>(path: string, schema: z.ZodType<T>): Promise<readonly CamelCased<T>[]> {
  const { linesOf } = await import("../../system/line-file.ts");
  const found: CamelCased<T>[] = [];
  for await (const line of linesOf(path)) {
    const parsed = schema.safeParse(jsonIn(line));
    if (parsed.success) found.push(toCamelCase(parsed.data, noOpaqueFields));
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

import { counted, isJsonObject, type Json, newTraceId } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { SkillKeeping } from "./active.ts";
import type { SkillProblem, Skills } from "./skills.ts";

const kind = "skill-index";
const id = "latest";
const mostNamed = 100;

/**
 * Writes `skill.indexed` into the audit log if the found skills have changed. Then the log of the process gets their
 * warnings. It gets the skills that were not loaded at every start.
 */
export async function recordIndexed(
  skills: Skills,
  { store, clock, policy }: SkillKeeping,
  log: (problem: string) => void,
): Promise<void> {
  const all = skills.list();
  for (const problem of skills.refused) log(`A skill was not loaded: ${sentenceOf(problem)}`);
  const facts = all.map(({ name, version, description, allowedTools }) => [name, version, description, allowedTools]);
  const digest = digestOf(JSON.parse(JSON.stringify([facts, skills.refused, skills.notes]).toWellFormed()) as Json); // it was just serialized
  const saved = await store.documents.get(kind, id);
  if (isJsonObject(saved?.body) && saved.body["digest"] === digest) return;
  for (const problem of skills.notes) log(`Skills: ${sentenceOf(problem)}`);
  for (const { name, path, warnings } of all)
    for (const warning of warnings) log(`Skill \`${name}\` (${path ?? "given in code"}): ${warning}.`);
  const data = {
    count: all.length,
    refused: skills.refused.length,
    digest,
    skills: all.slice(0, mostNamed).map(({ name, version }) => ({ name, version })),
  };
  const event = {
    moment: "noted",
    at: clock.now(),
    type: "skill.indexed",
    summary: `${counted(all.length, "skill")} found, ${skills.refused.length} refused`,
    traceId: newTraceId(),
    policyVersion: policy.version,
    outcome: "info",
    data,
  } as const;
  // If another process indexes at the same time, the next start compares with its digest.
  const expectedVersion = saved?.version ?? 0;
  await store.commit({ write: "document", kind, id, body: { digest }, expectedVersion, event }, "committed");
}

function sentenceOf({ path, problem, fix }: SkillProblem): string {
  return `${path}: ${problem}. ${fix}`;
}

import { newTraceId } from "../../core/ids.ts";
import { digestOf, isJsonObject, type Json } from "../../core/json.ts";
import { counted } from "../../core/shown.ts";
import type { SkillKeeping } from "./active.ts";
import type { SkillProblem, Skills } from "./skills.ts";

const kind = "skill-index";
const id = "latest";
const mostNamed = 100;

/**
 * `skill.indexed` stands in the log each time that what was found is not what was found before; then whoever runs Postern
 * is told what is odd about it. What was not loaded is told at every start.
 */
export async function tellIndexed(
  skills: Skills,
  { store, clock, policyVersion }: SkillKeeping,
  log: (problem: string) => void,
): Promise<void> {
  const all = skills.list();
  for (const problem of skills.refused) log(`A skill was not loaded: ${sentenceOf(problem)}`);
  const told = all.map(({ name, version, description, allowedTools }) => [name, version, description, allowedTools]);
  const digest = digestOf(JSON.parse(JSON.stringify([told, skills.refused, skills.notes]).toWellFormed()) as Json); // JSON, by its making
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
    policyVersion,
    outcome: "info",
    data,
  } as const;
  // Whoever else indexes at this moment has said the same, or will be compared with at the next start.
  const expectedVersion = saved?.version ?? 0;
  await store.commit({ write: "document", kind, id, body: { digest }, expectedVersion, event }, "committed");
}

function sentenceOf({ path, problem, fix }: SkillProblem): string {
  return `${path}: ${problem}. ${fix}`;
}

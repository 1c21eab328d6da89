/** Skills as they go over the wire: everything an operator may want to know of them, but their instructions. */
import type { Skill, SkillProblem, Skills } from "../tools/builtin/skills/skills.ts";

export interface SkillWire {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly allowed_tools: readonly string[];
  readonly license?: string | undefined;
  readonly compatibility?: string | undefined;
  readonly category?: string | undefined;
  readonly tags: readonly string[];
  readonly aliases: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Null: it was given in code. */
  readonly path: string | null;
  readonly warnings: readonly string[];
}

export interface SkillsWire {
  readonly skills: readonly SkillWire[];
  /** What lies there and was not loaded. */
  readonly refused: readonly SkillProblem[];
  /** What is odd about the folders. */
  readonly notes: readonly SkillProblem[];
}

export function skillsToWire(skills: Skills | undefined): SkillsWire {
  if (skills === undefined) return { skills: [], refused: [], notes: [] };
  const { refused, notes } = skills;
  return { skills: skills.list().map((skill) => skillToWire(skill, skills.unknownTools(skill))), refused, notes };
}

function skillToWire(skill: Skill, unknown: readonly string[]): SkillWire {
  const { allowedTools, warnings, license, compatibility, category, ...same } = skill;
  return {
    name: same.name,
    description: same.description,
    version: same.version,
    allowed_tools: allowedTools,
    license,
    compatibility,
    category,
    tags: same.tags,
    aliases: same.aliases,
    metadata: same.metadata,
    path: same.path,
    warnings: [
      ...warnings,
      ...unknown.map((tool) => `\`allowed-tools\` names \`${tool}\`, which nobody registered; it is ignored`),
    ],
  };
}

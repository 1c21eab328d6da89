import type { Skill, Skills } from "../../builtin/skills/skills.ts";
import type { Input } from "../contract/route.ts";
import type { skillList } from "../contract/skills.ts";

/** All that an operator may want to know of skills, without their instructions. */
export function givenSkills(skills: Skills | undefined): Input<typeof skillList> {
  if (skills === undefined) return { skills: [], refused: [], notes: [] };
  const { refused, notes } = skills;
  return { skills: skills.list().map((skill) => givenSkill(skill, skills.unknownTools(skill))), refused, notes };
}

function givenSkill(
  { allowedTools, warnings, ...skill }: Skill,
  unknown: readonly string[],
): Input<typeof skillList>["skills"][number] {
  return {
    ...skill,
    allowed_tools: allowedTools,
    warnings: [
      ...warnings,
      ...unknown.map((tool) => `\`allowed-tools\` names \`${tool}\`, which nobody registered; it is ignored`),
    ],
  };
}

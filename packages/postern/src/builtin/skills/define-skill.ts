import { RuntimeFault, visible } from "@postern/core";
import type { Skill } from "./skills.ts";

/**
 * A skill that is defined in code.
 *
 * @public
 */
export interface SkillInput extends Skill {
  readonly instructions: string;
  readonly path: null;
}

/** @public */
export interface SkillDefinition {
  readonly name: string;
  readonly instructions: string;
  readonly description?: string;
  /** The tools that a run may call while the skill is active. Without it, the skill restricts nothing. */
  readonly allowedTools?: readonly string[];
  /** Default: `1`. */
  readonly version?: string;
}

/**
 * A skill that the program defines, instead of a folder.
 *
 * @example
 * const polite = defineSkill({ name: "polite", description: "For letters.", instructions: "Say please.", allowedTools: ["send_email"] });
 * await createRuntime({ tools, skills: { folders: [], skills: [polite] } });
 *
 * @throws RuntimeFault `options_invalid` that names the member
 * @public
 */
export function defineSkill(definition: SkillDefinition): SkillInput {
  const { name, instructions, description = "", allowedTools = [], version = "1" } = definition;
  if (typeof name !== "string" || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) || name.length > 64)
    throw new RuntimeFault(
      "options_invalid",
      `${visible(name)} cannot be the name of a skill: use 1 to 64 of a-z, 0-9 and single hyphens.`,
    );
  for (const [member, text] of Object.entries({ instructions, description, version }))
    if (typeof text !== "string")
      throw new RuntimeFault("options_invalid", `Skill \`${name}\`: \`${member}\` must be a text.`);
  if (!Array.isArray(allowedTools) || !allowedTools.every((tool) => typeof tool === "string" && tool !== ""))
    throw new RuntimeFault("options_invalid", `Skill \`${name}\`: \`allowedTools\` must be a list of tool names.`);
  return Object.freeze({
    name,
    instructions,
    description,
    version,
    allowedTools: Object.freeze([...allowedTools]),
    tags: Object.freeze([]),
    aliases: Object.freeze([]),
    metadata: Object.freeze({}),
    path: null,
    warnings: Object.freeze([]),
  });
}

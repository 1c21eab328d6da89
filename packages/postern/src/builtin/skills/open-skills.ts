import { checkMember, RuntimeFault } from "@postern/core";
import type { SkillsContext, SkillsOptions } from "./library.ts";
import type { Skills } from "./skills.ts";

/**
 * Finds the skills in these folders. A skill that cannot be loaded is in `refused` with its reason; nothing in a
 * skill's folder makes this throw. A runtime that gets the folders keeps activations over restarts; one that gets this
 * object does not.
 *
 * @example
 * const skills = await openSkills({ folders: ["skills"] });
 * await using runtime = await createRuntime({ tools, skills });
 * const prompt = ["You help with mail.", skills.roster()].join("\n\n");
 * @throws RuntimeFault `options_invalid` for folders that are no list of paths, `internal`
 *
 * @public
 */
export async function openSkills(options: SkillsOptions, context: SkillsContext = {}): Promise<Skills> {
  const { folders, skills = [], agents = {}, linksAndGroups = false } = options;
  if (!Array.isArray(folders) || !folders.every((folder) => typeof folder === "string" && folder !== "")) {
    const found = JSON.stringify(folders) ?? String(folders);
    throw new RuntimeFault("options_invalid", `\`skills.folders\` is ${found}; it must be a list of paths.`);
  }
  if (!Array.isArray(skills) || !skills.every((skill) => skill?.path === null))
    throw new RuntimeFault("options_invalid", "`skills.skills` must be a list of what `defineSkill` made.");
  checkMember("linksAndGroups", linksAndGroups, "true or false", "options_invalid");
  checkAgents(agents);
  const { openLibrary } = await import("./library.ts"); // loaded with its parser only when there are skills
  return openLibrary(options, context);
}

function checkAgents(agents: unknown): void {
  const isMap = typeof agents === "object" && agents !== null && !Array.isArray(agents);
  const isList = (names: unknown): boolean => Array.isArray(names) && names.every((name) => typeof name === "string");
  if (isMap && Object.values(agents).every(isList)) return;
  throw new RuntimeFault(
    "options_invalid",
    `\`skills.agents\` is ${JSON.stringify(agents) ?? String(agents)}; it must have a list of skills for each name of an agent.`,
  );
}

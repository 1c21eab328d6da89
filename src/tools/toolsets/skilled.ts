import type { ActiveSkills } from "../../policy/policy.ts";
import { skillsForbid } from "../../policy/rules/skill-layer.ts";
import { filtered } from "./filtered.ts";
import type { Toolset } from "./toolset.ts";

/**
 * What the skills of a run leave of a set, asked each time: offering less than the gate would let through, never more.
 * For who lists tools to a model by hand; a runtime's own `offered` does the same.
 *
 * @example
 * const shown = skilled(box, () => runtime.skills?.activeFor("default", runId)).tools();
 *
 * @public
 */
export function skilled(set: Toolset, active: () => ActiveSkills | undefined): Toolset {
  return {
    tools: () => {
      const skills = active();
      if (skills === undefined) return set.tools();
      return filtered(set, ({ name }) => skillsForbid(skills, { tool: name }) === undefined).tools();
    },
  };
}

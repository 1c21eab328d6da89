import { globMatcher, isGlob } from "./glob.ts";
import { type ActiveSkills, alwaysOffered, type ToolFacts } from "./policy.ts";

/** Whether the active skills restrict the agent to other tools. None that restricts: no. */
export function skillsForbid({ allowedTools }: ActiveSkills, { tool, server }: ToolFacts): boolean {
  if (allowedTools === undefined) return false;
  if (server === undefined && alwaysOffered.includes(tool)) return false;
  return !allowedTools.some((wanted) => wanted === tool || (isGlob(wanted) && globMatcher(wanted)(tool)));
}

import { globMatcher, isGlob } from "./glob.ts";
import type { ActiveSkills, ToolFacts } from "./policy.ts";

/** How an agent finds skills and tools at all: active skills never take these away (C17, D3). Only our own bear the names. */
const alwaysKept: readonly string[] = ["list_skills", "load_skill", "tool_search"];

/** Whether the active skills restrict the agent to other tools. None that restricts: no. */
export function skillsForbid({ allowedTools }: ActiveSkills, { tool, server }: ToolFacts): boolean {
  if (allowedTools === undefined) return false;
  if (server === undefined && alwaysKept.includes(tool)) return false;
  return !allowedTools.some((wanted) => wanted === tool || (isGlob(wanted) && globMatcher(wanted)(tool)));
}

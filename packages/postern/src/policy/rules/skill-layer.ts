import { type ActiveSkills, alwaysOffered, type ToolFacts } from "../policy.ts";
import { globMatcher, isGlob } from "./glob.ts";

/**
 * The active skills, of the run or of all runs of the agent, that do not allow the tool. Returns undefined if all allow it.
 *
 * @example
 * const active = runtime.skills?.activeWith({ tenant: "default", runId }, ["mail-etiquette"]);
 * const offers = runtime.offered().filter(({ facts }) => active === undefined || skillsForbid(active, facts) === undefined);
 *
 * @public
 */
export function skillsForbid(
  { names, allowedTools, held }: ActiveSkills,
  facts: Pick<ToolFacts, "tool" | "server">,
): readonly string[] | undefined {
  const { tool, server } = facts;
  if (server === undefined && alwaysOffered.includes(tool)) return undefined;
  const isAllowed =
    allowedTools === undefined ||
    allowedTools.some((wanted) => wanted === tool || (isGlob(wanted) && globMatcher(wanted)(tool)));
  return isAllowed ? held && skillsForbid(held, facts) : names;
}

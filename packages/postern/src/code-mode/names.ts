/** The tool that runs scripts. */
export const chainToolName = "tool_chain";

const mostListed = 40;

/** The first names, and how many there are. */
export function nameList(names: readonly string[]): string {
  const shown = names.slice(0, mostListed).join(", ");
  return names.length > mostListed ? `${shown}, … (${names.length} in all)` : shown || "none";
}

import type { ToolBlock } from "../../tools/registered.ts";

/** Why a tool cannot be called, for agents too: the operator's commands stand in `postern tools`, and not here. */
export function changedBlock(tool: string, fields: readonly string[]): ToolBlock {
  const problem = `\`${tool}\` is blocked: its server changed its definition (${fields.join(", ")}). ${mend}`;
  return { why: "changed", problem };
}

export function newBlock(tool: string): ToolBlock {
  const problem = `\`${tool}\` is blocked: no operator has approved its definition yet. ${mend}`;
  return { why: "new", problem };
}

/** @param problem why its definition could not be recorded; none: it is being written */
export function waitingBlock(tool: string, problem?: string): ToolBlock {
  const why = problem === undefined ? "is being pinned; try again" : `could not be recorded: ${problem}`;
  return { why: "waiting", problem: `\`${tool}\` is blocked: its definition ${why}` };
}

const mend = "An operator must look at it and approve it; go on without this tool until then.";

import type { Block } from "../registered.ts";

/** Why a tool cannot be called, for whoever called it and for the operator: each with the command that mends it. */
export function changedBlock(tool: string, fields: readonly string[]): Block {
  const problem = `\`${tool}\` is blocked: its server changed its definition (${fields.join(", ")}). ${mend(tool)}`;
  return { why: "changed", problem };
}

export function newBlock(tool: string): Block {
  const problem = `\`${tool}\` is blocked: no operator has approved its definition yet. ${mend(tool)}`;
  return { why: "new", problem };
}

/** @param problem why its definition could not be recorded; none: it is being written */
export function waitingBlock(tool: string, problem?: string): Block {
  const why = problem === undefined ? "is being pinned; try again" : `could not be recorded: ${problem}`;
  return { why: "waiting", problem: `\`${tool}\` is blocked: its definition ${why}` };
}

function mend(tool: string): string {
  return `An operator looks at it with \`postern tools diff ${tool}\` and approves it with \`postern tools approve ${tool}\`.`;
}

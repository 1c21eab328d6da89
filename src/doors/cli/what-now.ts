import type { PosternClient } from "../http/client.ts";
import type { ExplanationWire, ToolWire } from "../wire-tools.ts";
import { sampleArguments } from "./commands/arguments.ts";

export interface WhatNow {
  readonly word: string;
  readonly explanation?: ExplanationWire;
}

/** A tool, and what a call of it would meet now. */
export interface ToldTool {
  readonly action: ToolWire;
  readonly now: WhatNow;
}

const words = {
  ALLOW: "runs",
  CONFIRM: "asks",
  PREVIEW: "previews",
  BLOCK: "blocked",
  DENY: "denied",
} as const;

export function askEach(agent: PosternClient, actions: readonly ToolWire[]): Promise<readonly ToldTool[]> {
  return Promise.all(actions.map(async (action) => ({ action, now: await whatNow(agent, action) })));
}

/** Asked with made-up arguments: nothing runs, and what depends on real ones is told when they come. */
export async function whatNow(
  agent: PosternClient,
  { tool, action, input_schema, unavailable, blocked }: ToolWire,
): Promise<WhatNow> {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  try {
    const explanation = await agent.explain({
      tool,
      action,
      arguments: sampleArguments(input_schema),
    });
    if (explanation.decision !== undefined) return { word: words[explanation.decision.verdict], explanation };
    return { word: "depends", explanation }; // made-up arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // the list is worth more than one column of it
  }
}

import type { PosternClient } from "../http/client.ts";
import type { ExplanationWire, ToolWire } from "../wire-tools.ts";
import { sampleArguments } from "./commands/arguments.ts";
import type { Connection } from "./connect.ts";

export interface WhatNow {
  readonly word: string;
  /** What the made-up call met, where others may meet something else. */
  readonly tried?: string;
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
const depends = "depends";

/** One verdict has one word: where the policy says another of the tool as such, it depends on the call. */
export async function askEach(
  { agent, operator }: Pick<Connection, "agent" | "operator">,
  actions: readonly ToolWire[],
): Promise<readonly ToldTool[]> {
  const { lines } = await operator.policy.show();
  const ofItself = new Map(lines?.map(({ tool, action, verdict }) => [`${tool}\0${action}`, words[verdict]]));
  return Promise.all(
    actions.map(async (action) => {
      const now = await whatNow(agent, action);
      const usual = ofItself.get(`${action.tool}\0${action.action}`) ?? now.word;
      const isVerdict = now.explanation?.decision !== undefined;
      return { action, now: isVerdict && usual !== now.word ? { ...now, word: depends, tried: now.word } : now };
    }),
  );
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
    return { word: depends, explanation }; // made-up arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // the list is worth more than one column of it
  }
}

import type { Json } from "../core/json.ts";
import type { PosternClient } from "../server/client/client.ts";
import type { ExplanationView } from "../server/contract/policy.ts";
import type { ToolView } from "../server/contract/tools.ts";
import { sampleArguments } from "./commands/arguments.ts";

export interface WhatNow {
  readonly word: string;
  /** What the made-up call met, where others may meet something else. */
  readonly tried?: string;
  readonly explanation?: ExplanationView;
}

/** A tool, and what a call of it would meet now. */
export interface UsedTool {
  readonly action: ToolView;
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

/** Who is asked: `explain` for the agent, `policy` for the operator. */
export interface WaitingRequest {
  readonly explain: (call: {
    readonly tool: string;
    readonly action: string;
    readonly arguments: Readonly<Record<string, Json>>;
  }) => Promise<ExplanationView>;
  readonly policy: Pick<PosternClient["policy"], "show">;
}

/** So many questions are under way at once: agents' calls come between them. */
const atOnce = 8;

/** One verdict has one word: where the policy says another of the tool as such, it depends on the call. */
export async function askEach(
  { explain, policy }: WaitingRequest,
  actions: readonly ToolView[],
): Promise<readonly UsedTool[]> {
  const { lines } = await policy.show();
  const ofItself = new Map(lines?.map(({ tool, action, verdict }) => [`${tool}\0${action}`, words[verdict]]));
  const tell = async (action: ToolView): Promise<UsedTool> => {
    const now = await whatNow(explain, action);
    const usual = ofItself.get(`${action.tool}\0${action.action}`) ?? now.word;
    const isVerdict = now.explanation?.decision !== undefined;
    return { action, now: isVerdict && usual !== now.word ? { ...now, word: depends, tried: now.word } : now };
  };
  const told: UsedTool[] = [];
  for (let at = 0; at < actions.length; at += atOnce)
    told.push(...(await Promise.all(actions.slice(at, at + atOnce).map(tell))));
  return told;
}

/** Asked with made-up arguments: nothing runs, and what depends on real ones is told when they come. */
export async function whatNow(
  explain: WaitingRequest["explain"],
  { tool, action, input_schema, unavailable, blocked }: ToolView,
): Promise<WhatNow> {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  try {
    const explanation = await explain({ tool, action, arguments: sampleArguments(input_schema) });
    if (explanation.decision !== undefined) return { word: words[explanation.decision.verdict], explanation };
    return { word: depends, explanation }; // made-up arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // the list is worth more than one column of it
  }
}

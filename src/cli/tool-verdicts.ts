import type { Json } from "../core/json.ts";
import type { PosternClient } from "../server/client/client.ts";
import type { ExplanationView } from "../server/contract/policy.ts";
import type { ToolView } from "../server/contract/tools.ts";
import { sampleArguments } from "./commands/arguments.ts";

export interface VerdictNow {
  /** What a call would meet now: `runs`, `asks`, … */
  readonly word: string;
  /** What the sample call met, if another call may meet something else. */
  readonly tried?: string;
  readonly explanation?: ExplanationView;
}

/** A tool, and what a call of it would meet now. */
export interface ToolNow {
  readonly action: ToolView;
  readonly now: VerdictNow;
}

const words = {
  ALLOW: "runs",
  CONFIRM: "asks",
  PREVIEW: "previews",
  BLOCK: "blocked",
  DENY: "denied",
} as const;
const depends = "depends";

/** `explain` asks as the agent, `policy` as the operator. */
export interface VerdictSource {
  readonly explain: (call: {
    readonly tool: string;
    readonly action: string;
    readonly arguments: Readonly<Record<string, Json>>;
  }) => Promise<ExplanationView>;
  readonly policy: Pick<PosternClient["policy"], "show">;
}

/** So many requests run at once: agents' calls come between them. */
const atOnce = 8;

/** If the policy has another verdict for the tool than for the sample call, the word is `depends`. */
export async function toolsNow(
  { explain, policy }: VerdictSource,
  actions: readonly ToolView[],
): Promise<readonly ToolNow[]> {
  const { lines } = await policy.show();
  const usual = new Map(lines?.map(({ tool, action, verdict }) => [`${tool}\0${action}`, words[verdict]]));
  const ask = async (action: ToolView): Promise<ToolNow> => {
    const now = await verdictNow(explain, action);
    const differs = (usual.get(`${action.tool}\0${action.action}`) ?? now.word) !== now.word;
    const isVerdict = now.explanation?.decision !== undefined;
    return { action, now: isVerdict && differs ? { ...now, word: depends, tried: now.word } : now };
  };
  const found: ToolNow[] = [];
  for (let at = 0; at < actions.length; at += atOnce)
    found.push(...(await Promise.all(actions.slice(at, at + atOnce).map(ask))));
  return found;
}

/** Explains a call with sample arguments. Nothing runs. */
export async function verdictNow(
  explain: VerdictSource["explain"],
  { tool, action, input_schema, unavailable, blocked }: ToolView,
): Promise<VerdictNow> {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  try {
    const explanation = await explain({ tool, action, arguments: sampleArguments(input_schema) });
    if (explanation.decision !== undefined) return { word: words[explanation.decision.verdict], explanation };
    return { word: depends, explanation }; // sample arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // one column without a word is better than no list
  }
}

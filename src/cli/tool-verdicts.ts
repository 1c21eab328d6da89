import type { Json } from "../core/json.ts";
import type { PosternClient } from "../server/contract/client.ts";
import type { EffectiveLineView, ExplanationView, ReasonView, VerdictView } from "../server/contract/policy.ts";
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

export const verdictWords: Readonly<Record<VerdictView, string>> = {
  ALLOW: "runs",
  CONFIRM: "asks",
  PREVIEW: "previews",
  BLOCK: "blocked",
  DENY: "denied",
};
export const depends = "depends";

/** What a call of the tool meets. If a rule can change the verdict for some arguments, no single word is true. */
export function lineWord({ verdict, depends: rules }: Pick<EffectiveLineView, "verdict" | "depends">): string {
  return rules.some(({ says }) => canChange(says, verdict)) ? depends : verdictWords[verdict];
}

/** Only a rule that permits lifts a denial. A call that asks already asks once. */
function canChange(says: ReasonView["says"], verdict: VerdictView): boolean {
  const permits = says === "ALLOW" || says === "CONFIRM";
  if (verdict === "DENY") return permits;
  return !permits || (says === "CONFIRM" && verdict === "ALLOW");
}

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

/** The word of the policy, or `depends` if the sample call meets another verdict: the tool itself may rate a call. */
export async function toolsNow(
  { explain, policy }: VerdictSource,
  actions: readonly ToolView[],
): Promise<readonly ToolNow[]> {
  const { lines } = await policy.show();
  const usual = new Map(lines?.map((line) => [`${line.tool}\0${line.action}`, lineWord(line)]));
  const ask = async (action: ToolView): Promise<ToolNow> => {
    const now = await verdictNow(explain, action);
    if (now.explanation === undefined) return { action, now };
    const isVerdict = now.explanation.decision !== undefined;
    const word = usual.get(`${action.tool}\0${action.action}`) ?? now.word;
    if (word === now.word || !isVerdict) return { action, now: { ...now, word } };
    return { action, now: { ...now, word: depends, tried: now.word } };
  };
  const found: ToolNow[] = [];
  for (let at = 0; at < actions.length; at += atOnce)
    found.push(...(await Promise.all(actions.slice(at, at + atOnce).map(ask))));
  return found;
}

/** Explains a call with sample arguments. Nothing runs. */
async function verdictNow(
  explain: VerdictSource["explain"],
  { tool, action, input_schema, unavailable, blocked }: ToolView,
): Promise<VerdictNow> {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  try {
    const explanation = await explain({ tool, action, arguments: sampleArguments(input_schema) });
    if (explanation.decision !== undefined) return { word: verdictWords[explanation.decision.verdict], explanation };
    return { word: depends, explanation }; // sample arguments that do not fit say nothing about real ones
  } catch {
    return { word: "?" }; // one column without a word is better than no list
  }
}

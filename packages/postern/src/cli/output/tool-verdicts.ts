import type { EffectiveLineView, PosternClient, ReasonView, ToolView, VerdictView } from "@postern/core/contract";

export interface VerdictNow {
  /** What a call would meet now: `runs`, `asks`, … */
  readonly word: string;
  /** The rule that decides. */
  readonly by?: ReasonView;
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
  return rules.some(({ effect }) => canChange(effect, verdict)) ? depends : verdictWords[verdict];
}

/** Only a rule that permits lifts a denial. A call that asks already asks once. */
function canChange(effect: ReasonView["effect"], verdict: VerdictView): boolean {
  const permits = effect === "ALLOW" || effect === "CONFIRM";
  if (verdict === "DENY") return permits;
  return !permits || (effect === "CONFIRM" && verdict === "ALLOW");
}

/** The word of the policy for each tool. The tool itself may rate one call higher. */
export async function toolsNow(
  policy: Pick<PosternClient["policy"], "show">,
  actions: readonly ToolView[],
): Promise<readonly ToolNow[]> {
  const { lines } = await policy.show();
  const known = new Map(lines?.map((line) => [`${line.tool}\0${line.action}`, line]));
  return actions.map((action) => ({ action, now: verdictNow(action, known.get(`${action.tool}\0${action.action}`)) }));
}

function verdictNow({ unavailable, blocked }: ToolView, line: EffectiveLineView | undefined): VerdictNow {
  if (blocked !== undefined) return { word: `blocked: ${blocked}` };
  if (unavailable !== undefined) return { word: "off" };
  return line === undefined ? { word: "?" } : { word: lineWord(line), by: line.by }; // a policy in code may list no lines
}

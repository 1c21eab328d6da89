/**
 * Why a call asks, is blocked or denied, in words for people: on cards, in messages and in refusals. Records and `explain`
 * keep the names. The console is built with this file, so it imports only types.
 */
import type { Reason } from "./event.ts";

type Words = (parts: readonly string[], effect: Reason["effect"]) => string;

/** Names that the policy itself gives. All others are sentences already, or the names of rules. */
const names: readonly (readonly [RegExp, Words])[] = [
  [
    /^matrix (\S+)\/(\S+)$/,
    ([level = "", risk = ""], effect) => `agents at level ${level} ${matrixWords(risk, effect)}`,
  ],
  [
    /^threshold (\w+)$/,
    ([risk], effect) =>
      effect === "ALLOW" ? `calls up to risk ${risk} run without approval` : `calls above risk ${risk} need approval`,
  ],
  [/^default: allow$/, () => "no rule refuses it"],
  [/^default: deny$/, () => "no rule permits it (default: deny)"],
  [/^default: destructive asks$/, () => "destructive tools need approval"],
  [
    /^default: (destructive|shell) (needs a rule that names .+)$/s,
    ([what, needs]) => `a ${what === "shell" ? "tool that runs a shell" : "destructive tool"} ${needs}`,
  ],
  [
    /^adjuster ([^:]+)(: .+)?$/s,
    ([what, why = ""]) => `the risk of this call is one level higher than that of its tool (${what}${why})`,
  ],
  [
    /^risk (\w+) of this call, says the tool \(its own: (\w+)\)$/,
    ([risk, own]) => `the tool rates this call ${risk}; the tool itself is ${own}`,
  ],
  [
    /^override secrets scope (.+)$/s,
    ([scope], effect) =>
      `tools with the scope ${scope} ${effect === "PREVIEW" ? "are only previewed" : "always need approval"}`,
  ],
  [/^scope (.+) missing$/s, ([scope]) => `the agent lacks the scope \`${scope}\``],
  [/^pack: (.+)$/s, ([what = ""]) => what],
];

function matrixWords(risk: string, effect: Reason["effect"]): string {
  const calls = risk === "safe" ? "safe calls" : `${risk}-risk calls`;
  if (effect === "ALLOW") return `make ${calls} without approval`;
  if (effect === "PREVIEW") return `only get previews of ${calls}`;
  return effect === "BLOCK" ? `may not make ${calls}` : `need approval for ${calls}`;
}

export function reasonWords({ rule, effect }: Pick<Reason, "rule" | "effect">): string {
  for (const [pattern, words] of names) {
    const found = pattern.exec(rule);
    if (found !== null) return words(found.slice(1), effect);
  }
  return rule;
}

/** The reasons that a person needs. That no rule refuses a call is no reason to ask. */
export function reasonsToShow<One extends Pick<Reason, "rule">>(why: readonly One[]): readonly One[] {
  const shown = why.filter(({ rule }) => rule !== "default: allow");
  return shown.length > 0 ? shown : why;
}

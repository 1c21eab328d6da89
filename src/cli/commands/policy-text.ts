/** How policy is told to a person: every rule with its line, in a hundred columns. */

import { counted } from "../../core/shown.ts";
import type {
  DecisionView,
  EffectiveLineView,
  EffectivePolicyView,
  ExplanationView,
  PolicyTest,
  PolicyWarningView,
  policy,
  ReasonView,
  SimulationView,
  TestResult,
  VerdictChangeView,
  VerdictView,
} from "../../server/contract/policy.ts";
import type { SentTo } from "../../server/contract/route.ts";
import { asTypedHere } from "../command-name.ts";
import type { Work } from "../print.ts";
import { actionText } from "../said.ts";
import { type Paint, paintRisk } from "../terminal.ts";
import { fit, visible, whose, widthOf } from "../text.ts";

type PolicyScreen = Pick<Work, "command" | "paint" | "terminal">;

const words: Readonly<Record<VerdictView, string>> = {
  ALLOW: "runs",
  CONFIRM: "asks",
  PREVIEW: "previews",
  BLOCK: "blocked",
  DENY: "denied",
};
const counts: Readonly<Record<VerdictView, string>> = { ...words, ALLOW: "run", CONFIRM: "ask", PREVIEW: "preview" };
const styles = { ALLOW: "green", CONFIRM: "yellow", PREVIEW: "cyan", BLOCK: "red", DENY: "red" } as const;

function paintVerdict(paint: Paint, verdict: VerdictView, text: string = verdict): string {
  return paint(styles[verdict], text);
}

/** `rule deny #3 (no-mail): …   postern.yaml:12` */
function ruleText({ rule, where }: ReasonView): string {
  return visible(where === undefined ? rule : `${rule} (${where})`);
}

/** Breaks between words; what follows the first line is indented. */
function wrapped(
  first: string,
  text: string,
  { indent, columns }: { readonly indent: number; readonly columns: number },
): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].map((one, i) => `${i === 0 ? first : " ".repeat(indent)}${one}\n`).join("");
}

export function effectiveText(
  screen: PolicyScreen,
  { lines, policy_version: version, unknown_requests: unknown, warnings }: EffectivePolicyView,
  whose: SentTo<typeof policy.show>,
): string {
  const { paint } = screen;
  const { agent = "local-agent", user, run_id: run } = whose;
  const who = `${agent}${user === undefined ? "" : ` for ${user}`}${run === undefined ? "" : `, run ${run}`}`;
  const shown = lines ?? [];
  const width = Math.min(40, Math.max(4, ...shown.map((line) => widthOf(nameOf(line)))));
  const heading = `${"TOOL".padEnd(width)}  ${"RISK".padEnd(8)}  ${"NOW".padEnd(8)}  BECAUSE OF`;
  return [
    `Policy ${visible(version)}, for ${visible(who)}; scopes count as granted.\n\n`,
    `${paint("dim", heading)}\n`,
    ...shown.map((line) => lineText(screen, line, width)),
    ...unknown.map(
      ({ skill, tool }) => `The skill ${visible(skill)} asks for \`${visible(tool)}\`, which nobody registered.\n`,
    ),
    countsText(shown),
    warnings.length === 0 ? "" : `\n${warningsText(screen, warnings)}`,
  ].join("");
}

function nameOf(line: Pick<EffectiveLineView, "tool" | "action">): string {
  return visible(actionText(line));
}

function lineText({ paint, terminal }: PolicyScreen, line: EffectiveLineView, width: number): string {
  const { risk, verdict, by, depends, requested_by: wishes } = line;
  const name = fit(nameOf(line), width);
  const indent = width + 22;
  const first = [
    name + " ".repeat(width - widthOf(name)),
    paintRisk(paint, risk) + " ".repeat(8 - risk.length),
    paintVerdict(paint, verdict, words[verdict]) + " ".repeat(8 - words[verdict].length),
    "",
  ].join("  ");
  const more = depends.map((rule) => `may change by ${ruleText(rule)}`);
  if (wishes.length > 0)
    more.push(`asked for by the skill ${visible(wishes.join(", "))}${verdict === "DENY" ? ": not enabled" : ""}`);
  return [
    wrapped(first, ruleText(by), { indent, columns: terminal.columns }),
    ...more.map((text) => wrapped(" ".repeat(indent), text, { indent: indent + 2, columns: terminal.columns })),
  ].join("");
}

function countsText(lines: readonly EffectiveLineView[]): string {
  const verdicts: readonly VerdictView[] = ["ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"];
  const told = verdicts.flatMap((verdict) => {
    const count = lines.filter((line) => line.verdict === verdict).length;
    return count === 0 ? [] : [`${count} ${counts[verdict]}`];
  });
  return `\n${lines.length === 0 ? "No tools are registered." : told.join(", ")}\n`;
}

export function explanationText(screen: PolicyScreen, tool: string, explanation: ExplanationView): string {
  const { paint, terminal, command } = screen;
  const { decision } = explanation;
  const refusal = explanation.reached === "refused" ? explanation.refusal : undefined;
  if (decision === undefined)
    return `${paint("bold", visible(tool))}   ${paint("red", refusal?.code ?? "refused")}\n${wrapped("  ", visible(asTypedHere(refusal?.message ?? "", command)), { indent: 2, columns: terminal.columns })}${recordedText(screen, explanation.recorded)}`;
  const { verdict, risk, observed, policy_version: version } = decision;
  const source =
    explanation.reached === "verdict" ? ` (${explanation.facts.risk_source}: ${explanation.facts.risk})` : "";
  const summary = explanation.reached === "verdict" ? explanation.summary : undefined;
  return [
    `${paint("bold", visible(tool))}   ${paintVerdict(paint, verdict)}   risk ${paintRisk(paint, risk)}${source}\n`,
    ...reasonLines(screen, decision, "  "),
    summary === undefined
      ? ""
      : wrapped("  ", `The tool says: ${visible(summary)}`, { indent: 2, columns: terminal.columns }),
    refusal === undefined || refusal.code === "permission_denied"
      ? ""
      : wrapped("  ", visible(asTypedHere(refusal.message, command)), { indent: 2, columns: terminal.columns }),
    observed === undefined ? "" : `  The policy only observes; enforced it would be ${observed}.\n`,
    recordedText(screen, explanation.recorded),
    paint("dim", `  policy ${visible(version)}; nothing was run\n`),
  ].join("");
}

/** Of a recorded call: what of it is explained, and how it was weighed then. */
function recordedText(
  screen: PolicyScreen,
  { edited, weighed }: NonNullable<ExplanationView["recorded"]> = {},
): string {
  const { terminal } = screen;
  const [asked, runs] = [edited?.asked_digest, edited?.digest].map((digest) => digest?.slice(0, 16));
  const edit = `A person changed its arguments: explained is what runs (sha256 ${runs}), not what was sent (${asked}).`;
  const then =
    weighed &&
    `Recorded at ${weighed.at}: ${weighed.verdict}, risk ${weighed.risk}${weighed.grant_id === undefined ? "" : `, by grant ${weighed.grant_id}`}; policy ${visible(weighed.policy_version)}.`;
  return [
    edited === undefined ? "" : wrapped("  ", edit, { indent: 2, columns: terminal.columns }),
    then === undefined ? "" : wrapped("  ", then, { indent: 2, columns: terminal.columns }),
  ].join("");
}

/** In the order of thought; what decided is marked. */
function reasonLines(
  { paint, terminal }: PolicyScreen,
  { reasons, verdict }: DecisionView,
  indent: string,
): readonly string[] {
  return reasons.map((reason) => {
    const { says } = reason;
    const says8 = says.padEnd(8);
    const painted = says === "RAISE" ? says8 : paintVerdict(paint, says, says8);
    const mark = says === verdict ? "→" : " ";
    return wrapped(`${indent}${mark} ${painted} `, ruleText(reason), {
      indent: indent.length + 11,
      columns: terminal.columns,
    });
  });
}

export function testText(screen: PolicyScreen, { results, warnings }: PolicyTest): string {
  const { paint } = screen;
  if (results.length === 0)
    return "No expectations. Write some under `policy.tests`, or in a file NAME.policy-tests.yaml beside the configuration.\n";
  const failed = results.filter(({ passed }) => !passed).length;
  const sum =
    failed === 0
      ? paint("green", results.length === 1 ? "It holds." : `All ${results.length} hold.`)
      : paint("red", `${failed} of ${results.length} do not hold.`);
  return [
    ...results.map((result) => resultText(screen, result)),
    `\n${sum}\n`,
    warnings.length === 0 ? "" : `\n${warningsText(screen, warnings)}`,
  ].join("");
}

function resultText(screen: PolicyScreen, { name, where, passed, expected, decision, problem }: TestResult): string {
  const { paint, terminal } = screen;
  const place = passed || where === undefined ? "" : ` (${visible(where)})`;
  const first = `${passed ? paint("green", "ok  ") : paint("red", "fail")}  ${paintVerdict(paint, expected, expected.padEnd(8))}`;
  return [
    wrapped(`${first}`, `${visible(name)}${place}`, { indent: 14, columns: terminal.columns }),
    problem === undefined ? "" : wrapped(" ".repeat(14), visible(problem), { indent: 14, columns: terminal.columns }),
    ...(passed || decision === undefined ? [] : reasonLines(screen, decision, " ".repeat(12))),
  ].join("");
}

export function simulationText(screen: PolicyScreen, simulation: SimulationView): string {
  const { terminal, paint } = screen;
  const { replayed, changes, unknown_tools: unknown, past_is_cut: isCut } = simulation;
  const head =
    simulation.before_version === simulation.after_version
      ? `It is the policy that is in force (${simulation.before_version}).\n`
      : "";
  const lost = Object.entries(unknown).map(([tool, count]) => `${counted(count, "call")} of \`${visible(tool)}\``);
  const notes = [
    "Arguments are as kept: redacted. Calls that were refused are not on record; skills and guardrails are not replayed.",
    ...(lost.length === 0 ? [] : [`Not replayed, for the tool is gone: ${lost.join(", ")}.`]),
    ...(isCut ? ["The past was too long to read: limits over long windows may be judged too mildly."] : []),
  ];
  return [
    head,
    ...changes.map((change) => changeText(screen, change)),
    `${changes.length === 0 ? "No verdict changes" : `${changes.length === 1 ? "1 verdict changes" : `${changes.length} verdicts change`}`} in ${counted(replayed, "call")}.\n`,
    ...notes.map((note) => paint("dim", wrapped("", note, { indent: 0, columns: terminal.columns }))),
  ].join("");
}

function changeText(screen: PolicyScreen, change: VerdictChangeView): string {
  const { paint, terminal } = screen;
  const { requested_by: by, before, after } = change;
  const who = whose(by);
  const verdict = (one: DecisionView): string =>
    `${paintVerdict(paint, one.verdict)}${one.observed === undefined ? "" : ` (enforced: ${one.observed})`}`;
  const because = (label: string, one: DecisionView): readonly string[] =>
    one.reasons
      .filter(({ says }) => says === one.verdict || says === one.observed)
      .map((reason, i) =>
        wrapped(`  ${paint("dim", (i === 0 ? label : "").padEnd(7))} `, ruleText(reason), {
          indent: 10,
          columns: terminal.columns,
        }),
      );
  return [
    `${paint("bold", nameOf(change))}   ${verdict(before)} → ${verdict(after)}\n`,
    paint(
      "dim",
      wrapped("  ", visible(`${change.at.slice(0, 19)}Z ${who}, run ${change.run_id}, ${change.call_id}`), {
        indent: 2,
        columns: terminal.columns,
      }),
    ),
    `  ${fit(visible(JSON.stringify(change.arguments)), terminal.columns - 2)}\n`,
    change.edited === true ? paint("dim", "  a person had changed what was sent: this is what ran\n") : "",
    ...because("before", before),
    ...because("after", after),
    "\n",
  ].join("");
}

export function warningsText({ paint, terminal }: PolicyScreen, warnings: readonly PolicyWarningView[]): string {
  if (warnings.length === 0) return "Nothing to warn of.\n";
  return warnings
    .map(({ message, where, code }) => {
      const text = visible(where === undefined ? message : `${message} (${where})`);
      return wrapped(`${paint("yellow", "warn")}  `, `${text} [${code}]`, { indent: 6, columns: terminal.columns });
    })
    .join("");
}

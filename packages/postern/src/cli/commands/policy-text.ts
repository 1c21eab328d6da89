/** Prints a policy for people: every rule with its line of the configuration. */

import { actionText, counted } from "@postern/core";
import type {
  DecisionView,
  EffectiveLineView,
  EffectivePolicyView,
  ExplanationView,
  PolicyReloadedView,
  PolicyTest,
  PolicyWarningView,
  policy,
  ReasonView,
  SentTo,
  SimulationView,
  TestResult,
  VerdictGroupView,
  VerdictView,
} from "@postern/core/contract";
import { asTypedHere } from "../command-name.ts";
import type { Work } from "../output/print.ts";
import { type Paint, paintRisk } from "../output/terminal.ts";
import { fit, visible, whose, widthOf } from "../output/text.ts";
import { depends, lineWord, verdictWords } from "../output/tool-verdicts.ts";

type PolicyScreen = Pick<Work, "command" | "paint" | "terminal">;

const styles: Readonly<Record<VerdictView, Parameters<Paint>[0]>> = {
  ALLOW: "green",
  CONFIRM: "yellow",
  PREVIEW: "cyan",
  BLOCK: "red",
  DENY: "red",
};
/** The words of the table, for several tools. */
const many: Readonly<Record<string, string>> = {
  runs: "run",
  asks: "ask",
  previews: "preview",
  blocked: "blocked",
  denied: "denied",
  [depends]: "depend on the arguments or on earlier calls",
};

function paintVerdict(paint: Paint, verdict: VerdictView, text: string = verdict): string {
  return paint(styles[verdict], text);
}

/** `rule deny #3 (no-mail): …   postern.yaml:12` */
function ruleText({ rule, where }: ReasonView): string {
  return visible(where === undefined ? rule : `${rule} (${where})`);
}

/** Breaks lines between words; the lines after the first are indented. */
function wrapperFor({ terminal: { columns } }: PolicyScreen): (first: string, text: string, indent: number) => string {
  return (first, text, indent) => {
    const lines: string[] = [];
    let line = "";
    for (const word of text.split(" "))
      if (line !== "" && indent + widthOf(line) + 1 + widthOf(word) > columns) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    return [...lines, line].map((one, i) => `${i === 0 ? first : " ".repeat(indent)}${one}\n`).join("");
  };
}

export function effectiveText(
  screen: PolicyScreen,
  { lines, policy_version: version, unknown_requests: unknown, warnings }: EffectivePolicyView,
  { agent = "local-agent", user, run_id: run }: SentTo<typeof policy.show>,
): string {
  const shown = lines ?? [];
  const width = Math.min(40, Math.max(4, ...shown.map((line) => widthOf(nameOf(line)))));
  const heading = `${"TOOL".padEnd(width)}  ${"RISK".padEnd(8)}  ${"NOW".padEnd(8)}  BECAUSE OF`;
  const counts = Object.entries(many).flatMap(([word, text]) => {
    const count = shown.filter((line) => lineWord(line) === word).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return [
    `Policy ${visible(version)}, for ${visible(`${whose({ agent, user })}${run === undefined ? "" : `, run ${run}`}`)}; scopes count as granted.\n\n`,
    `${screen.paint("dim", heading)}\n`,
    ...shown.map((line) => lineText(screen, line, width)),
    ...unknown.map(
      ({ skill, tool }) => `The skill ${visible(skill)} asks for \`${visible(tool)}\`, which is not registered.\n`,
    ),
    `\n${counts.join(", ") || "No tools are registered."}\n`,
    warnings.length === 0 ? "" : `\n${warningsText(screen, warnings)}`,
  ].join("");
}

function nameOf(line: Pick<EffectiveLineView, "tool" | "action">): string {
  return visible(actionText(line));
}

function lineText(screen: PolicyScreen, line: EffectiveLineView, width: number): string {
  const { paint } = screen;
  const { risk, verdict, by, depends: rules, requested_by: skills } = line;
  const wrap = wrapperFor(screen);
  const name = fit(nameOf(line), width);
  const word = lineWord(line);
  const cell = (text: string, painted: string, columns: number): string =>
    `${painted}${" ".repeat(columns - widthOf(text))}  `;
  const first = `${cell(name, name, width)}${cell(risk, paintRisk(paint, risk), 8)}${cell(word, paintVerdict(paint, verdict, word), 8)}`;
  const because = word !== depends ? ruleText(by) : `${verdictWords[verdict]} by ${ruleText(by)}`;
  const indent = width + 22;
  const more = rules.map((rule) => `may change by ${ruleText(rule)}`);
  if (skills.length > 0)
    more.push(`asked for by the skill ${visible(skills.join(", "))}${verdict === "DENY" ? ": not enabled" : ""}`);
  return [wrap(first, because, indent), ...more.map((text) => wrap(" ".repeat(indent), text, indent + 2))].join("");
}

export function explanationText(screen: PolicyScreen, tool: string, explanation: ExplanationView): string {
  const { paint, command } = screen;
  const wrap = wrapperFor(screen);
  const { decision, recorded } = explanation;
  const name = paint("bold", visible(tool));
  const refusal = explanation.reached === "refused" ? explanation.refusal : undefined;
  const why = wrap("  ", visible(asTypedHere(refusal?.message ?? "", command)), 2);
  if (decision === undefined)
    return `${name}   ${paint("red", refusal?.code ?? "refused")}\n${why}${recordedText(screen, recorded)}`;
  const { facts, summary } = explanation.reached === "verdict" ? explanation : {};
  const source = facts === undefined ? "" : ` (${facts.risk_source}: ${facts.risk})`;
  const { verdict, risk, observed } = decision;
  return [
    `${name}   ${paintVerdict(paint, verdict)}   risk ${paintRisk(paint, risk)}${source}\n`,
    reasonLines(screen, decision, "  "),
    summary === undefined ? "" : wrap("  ", `The tool says: ${visible(summary)}`, 2),
    refusal === undefined || refusal.code === "permission_denied" ? "" : why,
    observed === undefined ? "" : `  The policy only observes; enforced it would be ${observed}.\n`,
    recordedText(screen, recorded),
    paint("dim", `  policy ${visible(decision.policy_version)}; nothing was run\n`),
  ].join("");
}

/** Of a recorded call: which arguments are explained, and the decision at that time. */
function recordedText(
  screen: PolicyScreen,
  { edited, weighed }: NonNullable<ExplanationView["recorded"]> = {},
): string {
  const lines: string[] = [];
  if (edited !== undefined)
    lines.push(
      `A person changed its arguments: explained is what runs (sha256 ${edited.digest.slice(0, 16)}), not what was sent (${edited.asked_digest.slice(0, 16)}).`,
    );
  if (weighed !== undefined)
    lines.push(
      `Recorded at ${weighed.at}: ${weighed.verdict}, risk ${weighed.risk}${weighed.grant_id === undefined ? "" : `, by grant ${weighed.grant_id}`}; policy ${visible(weighed.policy_version)}.`,
    );
  return lines.map((line) => wrapperFor(screen)("  ", line, 2)).join("");
}

/** In the order in which they are applied; an arrow marks what decided. */
function reasonLines(screen: PolicyScreen, { reasons, verdict }: DecisionView, indent: string): string {
  return reasons
    .map((reason) => {
      const { effect } = reason;
      const word = effect === "RAISE" ? effect.padEnd(8) : paintVerdict(screen.paint, effect, effect.padEnd(8));
      const first = `${indent}${effect === verdict ? "→" : " "} ${word} `;
      return wrapperFor(screen)(first, ruleText(reason), indent.length + 11);
    })
    .join("");
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
  const { paint } = screen;
  const wrap = wrapperFor(screen);
  const place = passed || where === undefined ? "" : ` (${visible(where)})`;
  const first = `${passed ? paint("green", "ok  ") : paint("red", "fail")}  ${paintVerdict(paint, expected, expected.padEnd(8))}`;
  return [
    wrap(first, `${visible(name)}${place}`, 14),
    problem === undefined ? "" : wrap(" ".repeat(14), visible(problem), 14),
    passed || decision === undefined ? "" : reasonLines(screen, decision, " ".repeat(12)),
  ].join("");
}

export function simulationText(screen: PolicyScreen, simulation: SimulationView): string {
  const { paint } = screen;
  const { replayed, changes, unknown_tools: unknown, before_version: before, after_version: after } = simulation;
  const { groups, waiting } = simulation;
  const sum = waiting.groups.reduce((total, { count }) => total + count, 0);
  const gone = Object.entries(unknown).map(([tool, count]) => `${counted(count, "call")} of \`${visible(tool)}\``);
  const notes = [
    "Arguments are as stored: redacted. Calls that were refused are not on record; skills and guardrails are not replayed.",
    ...(gone.length === 0 ? [] : [`Not replayed, because the tool is gone: ${gone.join(", ")}.`]),
    ...(waiting.is_cut ? ["More requests wait than were decided."] : []),
    ...(simulation.past_is_cut
      ? ["The past was too long to read: limits over long windows may be judged too mildly."]
      : []),
  ];
  const count = changes.length === 1 ? "1 verdict changes" : `${changes.length || "No"} verdicts change`;
  return [
    before === after ? `It is the policy that is in force (${before}).\n` : "",
    ...groups.map((group) => groupText(screen, group)),
    ...waiting.groups.map((group) => groupText(screen, group)),
    `${count} in ${counted(replayed, "call")}.\n`,
    waiting.requests === 0
      ? ""
      : `${sum || "None"} of ${counted(waiting.requests, "waiting request")} would be decided otherwise.\n`,
    ...notes.map((note) => paint("dim", wrapperFor(screen)("", note, 0))),
  ].join("");
}

/** The newest change of the group, and how many there are. */
function groupText(screen: PolicyScreen, { count, example: change }: VerdictGroupView): string {
  const { paint, terminal } = screen;
  const wrap = wrapperFor(screen);
  const { requested_by: by, before, after, at, run_id, call_id, approval_id: waits } = change;
  const times = count === 1 ? "" : ` ×${count}`;
  const verdict = (one: DecisionView): string =>
    `${paintVerdict(paint, one.verdict)}${one.observed === undefined ? "" : ` (enforced: ${one.observed})`}`;
  const because = (label: string, one: DecisionView): string =>
    one.reasons
      .filter(({ effect }) => effect === one.verdict || effect === one.observed)
      .map((reason, i) => wrap(`  ${paint("dim", (i === 0 ? label : "").padEnd(7))} `, ruleText(reason), 10))
      .join("");
  return [
    `${paint("bold", nameOf(change))}${times}   ${verdict(before)} → ${verdict(after)}${waits === undefined ? "" : ", waiting"}\n`,
    paint("dim", wrap("  ", visible(`${at.slice(0, 19)}Z ${whose(by)}, run ${run_id}, ${waits ?? call_id}`), 2)),
    `  ${fit(visible(JSON.stringify(change.arguments)), terminal.columns - 2)}\n`,
    change.edited === true ? paint("dim", "  a person had changed what was sent: this is what ran\n") : "",
    because("before", before),
    because("after", after),
    "\n",
  ].join("");
}

export function reloadedText(
  { paint }: PolicyScreen,
  { name, before_version: before, after_version: after, changes, restart }: PolicyReloadedView,
): string {
  const [from, to, file] = [visible(before), visible(after), visible(name)];
  return [
    changes.length === 0 ? `Nothing that decides about calls differs in ${file} (policy ${to}).\n` : "",
    changes.length > 0 ? `In force: ${file}, policy ${to}${from === to ? "" : ` (before: ${from})`}.\n` : "",
    ...changes.map((change) => `  ${visible(change)}\n`),
    restart.length === 0 ? "" : `${paint("yellow", restartText(restart))}\n`,
  ].join("");
}

/** Sections that a reload does not put in force. */
export function restartText(restart: readonly string[]): string {
  const names = restart.map((name) => `\`${visible(name)}\``).join(", ");
  return `${names} changed too, and ${restart.length === 1 ? "needs" : "need"} a restart.`;
}

export function warningsText(screen: PolicyScreen, warnings: readonly PolicyWarningView[]): string {
  if (warnings.length === 0) return "No warnings.\n";
  return warnings
    .map(({ message, where, code }) => {
      const text = visible(where === undefined ? message : `${message} (${where})`);
      return wrapperFor(screen)(`${screen.paint("yellow", "warn")}  `, `${text} [${code}]`, 6);
    })
    .join("");
}

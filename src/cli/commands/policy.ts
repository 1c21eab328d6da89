import { autonomies } from "../../core/risk.ts";
import { globMatcher } from "../../policy/rules/glob.ts";
import type { ExplanationView, policy } from "../../server/contract/policy.ts";
import type { SentTo } from "../../server/contract/route.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { tablesFor } from "../policy-tables.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { UsageProblem } from "../usage-problem.ts";
import { argumentsFrom } from "./arguments.ts";
import { schemaOf } from "./call.ts";
import { effectiveText, explanationText, simulationText, testText, warningsText } from "./policy-text.ts";
import { oneOf, wholeNumber } from "./typed.ts";

export interface WhoseFlags extends GlobalFlags {
  readonly agent?: string;
  readonly user?: string;
  readonly run?: string;
  readonly autonomy?: string;
}

/** Rules are about tools, so servers are connected. */
const needs = { tools: true } as const;

export async function showPolicy(host: Host, tool: string | undefined, flags: WhoseFlags): Promise<ExitCode> {
  const whose = whoseOf(flags);
  return withPostern({ host, flags, needs }, async (work) => {
    const policy = await work.operator.policy.show(whose);
    const wanted = tool === undefined ? undefined : globMatcher(tool);
    const lines = policy.lines?.filter((line) => wanted === undefined || wanted(line.tool)) ?? null;
    if (work.json) printJson(work, { ...policy, lines });
    else if (lines === null) work.terminal.out("This policy is an own one and cannot tell what is so for each tool.\n");
    else if (tool !== undefined && lines.length === 0) throw new UsageProblem(`No tool is called \`${tool}\`.`);
    else work.terminal.out(effectiveText(work, { ...policy, lines }, whose));
    return exitCodes.ok;
  });
}

export interface ExplainFlags extends WhoseFlags {
  readonly action?: string;
  readonly args?: string;
  readonly scopes?: string;
  readonly call?: string;
}

export async function explainCall(
  host: Host,
  { tool, words }: { readonly tool: string; readonly words: readonly string[] },
  flags: ExplainFlags,
): Promise<ExitCode> {
  const whose = whoseOf(flags);
  if ((tool === "") === (flags.call === undefined))
    throw new UsageProblem("Name a tool, or a recorded call with `--call ID`; not both.");
  return withPostern({ host, flags, needs }, async (work) => {
    if (flags.call !== undefined) {
      const { tool: called } = await work.operator.calls.show({ id: flags.call });
      return told(work, called, await work.operator.policy.explainCall({ id: flags.call }));
    }
    const schema = words.length === 0 ? undefined : await schemaOf(work.operator, tool, flags.action);
    const explanation = await work.operator.policy.explain({
      ...whose,
      tool,
      arguments: argumentsFrom(flags.args, words, schema),
      action: flags.action,
      scopes: flags.scopes?.split(",").map((scope) => scope.trim()),
    });
    return told(work, tool, explanation);
  });
}

function told(work: Work, tool: string, explanation: ExplanationView): ExitCode {
  if (work.json) printJson(work, explanation);
  else work.terminal.out(explanationText(work, tool, explanation));
  return explanation.decision === undefined ? exitCodes.failed : exitCodes.ok;
}

export interface EditedFlags extends GlobalFlags {
  readonly policy?: string;
}

export async function testPolicy(host: Host, named: readonly string[], flags: EditedFlags): Promise<ExitCode> {
  const configuration = await host.configurationText(flags, flags.policy);
  const tables = await tablesFor(configuration, named);
  return withPostern({ host, flags, needs: { ...needs, books: "any" } }, async (work) => {
    const answer = await work.operator.policy.test({ configuration, tables });
    if (work.json) printJson(work, answer);
    else work.terminal.out(testText(work, answer));
    return answer.passed ? exitCodes.ok : exitCodes.failed;
  });
}

export async function warnOfPolicy(host: Host, flags: EditedFlags): Promise<ExitCode> {
  const configuration = await host.configurationText(flags, flags.policy);
  return withPostern({ host, flags, needs: { ...needs, books: "any" } }, async (work) => {
    const { warnings } = await work.operator.policy.test({ configuration });
    if (work.json) printJson(work, { warnings });
    else work.terminal.out(warningsText(work, warnings));
    return warnings.length === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

export interface SimulateFlags extends EditedFlags {
  readonly last?: string;
  readonly tool?: string;
  readonly run?: string;
}

export async function simulatePolicy(host: Host, flags: SimulateFlags): Promise<ExitCode> {
  const limit = flags.last === undefined ? undefined : wholeNumber(flags.last, "--last");
  if (limit !== undefined && (limit < 1 || limit > 10_000))
    throw new UsageProblem(`\`--last ${limit}\`: at least 1 call and at most 10000 are replayed.`);
  const configuration = await host.configurationText(flags, flags.policy);
  return withPostern({ host, flags, needs }, async (work) => {
    const simulation = await work.operator.policy.simulate({
      configuration,
      limit,
      tool: flags.tool,
      run_id: flags.run,
    });
    if (work.json) printJson(work, simulation);
    else work.terminal.out(simulationText(work, simulation));
    return exitCodes.ok;
  });
}

function whoseOf({ agent, user, run, autonomy }: WhoseFlags): SentTo<typeof policy.show> {
  const level = autonomy === undefined ? undefined : oneOf(autonomy.toUpperCase(), autonomies, "--autonomy");
  return { agent, user, run_id: run, autonomy: level };
}

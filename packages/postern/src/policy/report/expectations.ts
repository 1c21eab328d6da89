/** Tests of a policy: calls with the verdicts that its author expects. They run no tool. */
import { type Autonomy, type CamelCased, defined, type JsonObject, nearest, type Risk } from "@postern/core";
import type { Decision, Facts, Histories, PastCall, Policy, Suggestion, ToolFacts } from "../policy.ts";
import type { ExpectationFile } from "../schema.ts";

/**
 * A call, and the verdict that its author expects.
 *
 * @public
 */
export type Expectation = Omit<CamelCased<ExpectationFile, "arguments">, "at"> & {
  /** Wall clock, milliseconds. The default is noon of a Monday, UTC. */
  readonly now?: number;
  /** Its place in a file. */
  readonly where?: string;
};
/** @public */
export type ExpectedPast = NonNullable<Expectation["history"]>[number];

/** @public */
export interface ExpectationResult {
  readonly name: string;
  readonly where?: string;
  readonly passed: boolean;
  readonly expected: Decision["verdict"];
  /** Left out when there is no such tool. */
  readonly decision?: Decision;
  /** Why it did not pass, in a sentence. */
  readonly problem?: string;
}

/** Returns undefined if there is no such tool. */
export type FindTool = (
  tool: string,
  action: string,
) => { readonly facts: ToolFacts; readonly suggest: (given: JsonObject) => Suggestion | undefined } | undefined;

export interface ExpectationTerms {
  readonly tools: FindTool;
  /** All names, to suggest one for a mistyped name. */
  readonly names: readonly string[];
  /** For expectations that name no level. */
  readonly autonomy: Autonomy | undefined;
  readonly maxRiskUnapproved?: Risk | undefined;
}

const mondayNoon = Date.UTC(2026, 0, 5, 12);

export function checkExpectations(
  expectations: readonly Expectation[],
  policy: Policy,
  terms: ExpectationTerms,
): readonly ExpectationResult[] {
  return expectations.map((one) => {
    const { name, expect: expected, where } = one;
    const { decision, problem } = checkExpectation(one, policy, terms);
    return { name, passed: problem === undefined, expected, ...defined({ where, decision, problem }) };
  });
}

function checkExpectation(
  one: Expectation,
  policy: Policy,
  terms: ExpectationTerms,
): { readonly decision?: Decision; readonly problem?: string } {
  const { call, expect, rule, history = [] } = one;
  const unknown = [call, ...history].find(({ tool, action = "default" }) => terms.tools(tool, action) === undefined);
  const facts = factsOf(one, terms);
  if (unknown !== undefined || facts === undefined) return { problem: unknownTool(unknown ?? call, terms) };
  const decision = policy.decide(facts);
  if (decision.verdict !== expect) return { decision, problem: `The verdict is ${decision.verdict}, not ${expect}.` };
  if (rule !== undefined && !decision.reasons.some((reason) => reason.rule.includes(rule)))
    return { decision, problem: `The verdict is ${expect}, but no rule with \`${rule}\` in its name took part.` };
  return { decision };
}

function unknownTool(
  { tool, action = "default" }: { readonly tool: string; readonly action?: string },
  terms: ExpectationTerms,
): string {
  const shown = action === "default" ? `\`${tool}\`` : `\`${tool}\` with the action \`${action}\``;
  const hint = terms.names.includes(tool) ? undefined : nearest(tool, terms.names);
  return `There is no tool ${shown}${hint === undefined ? "." : `; did you mean \`${hint}\`?`}`;
}

function factsOf(one: Expectation, terms: ExpectationTerms): Facts | undefined {
  const { call, principal, autonomy = terms.autonomy, now = mondayNoon } = one;
  const args = call.arguments ?? {};
  const asked = terms.tools(call.tool, call.action ?? "default");
  if (asked === undefined) return undefined;
  return {
    tool: asked.facts,
    principal: { tenant: "default", agent: "local-agent", ...principal },
    scopes: one.scopes ?? asked.facts.scopes,
    autonomy,
    maxRiskUnapproved: terms.maxRiskUnapproved,
    suggestion: asked.suggest(args),
    arguments: args,
    history: historiesOf(one.history ?? [], now, terms),
    now,
  };
}

/** The same past in every scope, because an expectation is about one principal in one run. */
function historiesOf(past: readonly ExpectedPast[], now: number, { tools }: ExpectationTerms): Histories {
  const calls = past.flatMap(({ tool, action = "default", arguments: args = {}, state = "ok", secondsAgo = 0 }) => {
    const asked = tools(tool, action);
    if (asked === undefined) return [];
    const { effects, risk, server } = asked.facts;
    const target = asked.suggest(args)?.target;
    const entry: PastCall = {
      ...{ tool, action, effects, risk, state, arguments: args, at: now - secondsAgo * 1000 },
      ...defined({ server, target }),
    };
    return [{ entry, isFromOutside: asked.facts.openWorld === true && state !== "attempted" }];
  });
  const history = {
    version: 0,
    tainted: calls.some(({ isFromOutside }) => isFromOutside),
    calls: calls.map(({ entry }) => entry).sort((a, b) => a.at - b.at),
  };
  return { run: history, principal: history, tenant: history };
}

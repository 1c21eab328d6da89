import type { Clock } from "../calls/clock.ts";
import { type Ending, refuse } from "../calls/ending.ts";
import type { Reason } from "../calls/event.ts";
import { lowerAutonomy } from "../calls/risk.ts";
import type { Controls } from "../policy/controls.ts";
import type { Decision, Histories, Policy, Suggestion } from "../policy/policy.ts";
import type { ValidCall, WeighedCall } from "./stages.ts";

export interface VerdictParts {
  readonly policy: Policy;
  readonly clock: Clock;
  readonly controls: Pick<Controls, "state">;
}

/** Rules on what a run did before have nothing to read yet. */
const noHistory: Histories = {};

/** Permission, risk and verdict in one look: `policy.decide` is the whole thought, this is its enforcement. */
export function weigh(call: ValidCall, parts: VerdictParts): WeighedCall | Ending {
  const { authority, found } = call;
  const suggestion = found.classifyRisk === undefined ? undefined : suggested(call);
  const weighing = parts.policy.decide({
    tool: found.facts,
    principal: authority.principal,
    scopes: authority.scopes,
    autonomy: lowerAutonomy(authority.autonomy, parts.controls.state.autonomy),
    maxRiskUnapproved: authority.maxRiskUnapproved,
    suggestion,
    arguments: call.arguments,
    history: noHistory,
    now: parts.clock.now(),
  });
  const { verdict, risk } = weighing;
  const weighed = Object.assign(call, { verdict, risk, weighing, suggestion });
  return refusalOf(call, weighing) ?? (weighed as WeighedCall);
}

function refusalOf(call: ValidCall, decision: Decision): Ending | undefined {
  const { tool } = call;
  if (decision.missingScope !== undefined) {
    const granted = call.authority.scopes.map((scope) => `\`${scope}\``).join(", ") || "none";
    return refuse(
      "scope_missing",
      `Tool \`${tool}\` needs scope \`${decision.missingScope}\`; this agent has ${granted}.`,
      rulesOf(decision),
    );
  }
  if (decision.verdict === "DENY")
    return refuse(
      "permission_denied",
      `The policy does not allow \`${tool}\`: ${names(decision.reasons)}.`,
      rulesOf(decision),
    );
  if (decision.verdict === "BLOCK") {
    return refuse(
      "blocked",
      `\`${tool}\` is blocked at risk ${decision.risk}: ${names(decision.reasons)}. No approval can lift that.`,
      rulesOf(decision),
    );
  }
  return undefined;
}

function rulesOf(decision: Decision): { readonly risk: string; readonly rules: readonly string[] } {
  return { risk: decision.risk, rules: decision.reasons.map(({ rule }) => rule) };
}

function names(reasons: readonly Reason[]): string {
  return reasons.map(({ rule, where }) => (where === undefined ? rule : `${rule} (${where})`)).join(", ");
}

/** The tool's own look at these arguments. One that throws has not made the call any safer. */
function suggested(call: ValidCall): Suggestion {
  try {
    const said = call.found.classifyRisk?.(call.arguments);
    return typeof said === "string" ? { risk: said } : (said ?? {});
  } catch {
    return { risk: "critical", summary: "The tool's own risk check failed." };
  }
}

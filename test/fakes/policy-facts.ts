/** Facts for tests that call a policy directly. */
import { createPolicy, type PolicyOptions } from "../../packages/postern/src/policy/decide.ts";
import type { Decision, Facts, ToolFacts } from "../../packages/postern/src/policy/policy.ts";

export const principal = { tenant: "default", agent: "agent" };

export function tool(name: string, more: Partial<ToolFacts> = {}): ToolFacts {
  return {
    tool: name,
    action: "default",
    risk: "safe",
    riskSource: "declared",
    effects: "write",
    scopes: [],
    permissions: [],
    ...more,
  };
}

/** Without a level, the threshold decides. */
export function decide(options: PolicyOptions, facts: ToolFacts, more: Partial<Facts> = {}): Decision {
  return createPolicy(options).decide({
    tool: facts,
    principal,
    scopes: facts.scopes,
    autonomy: undefined,
    maxRiskUnapproved: undefined,
    suggestion: undefined,
    arguments: {},
    history: {},
    now: 0,
    ...more,
  });
}

/** At A4, where no level asks. */
export function decideFacts(): Omit<Facts, "tool"> {
  return {
    principal,
    scopes: [],
    autonomy: "A4",
    maxRiskUnapproved: undefined,
    suggestion: undefined,
    arguments: {},
    history: {},
    now: 0,
  };
}

/** Decides about a tool, at A4. */
export function factsOf(tool: ToolFacts, more: Partial<Facts> = {}): Facts {
  return { tool, ...decideFacts(), ...more };
}

/** Questions to a policy, for tests that ask it directly. */
import { createPolicy, type Decision, type Facts, type PolicyOptions, type ToolFacts } from "../../src/index.ts";

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

/** Without a level: the threshold decides. */
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

/** At A4, where nothing asks by itself. */
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

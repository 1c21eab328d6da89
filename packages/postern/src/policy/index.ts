/**
 * `postern/policy`: policies, rules, conditions, guardrails, history limits and risk guesses.
 *
 * @packageDocumentation
 */
export type { ControlChange, ControlState, Controls, Pausable, SinglePause } from "./controls.ts";
export { createPolicy } from "./decide.ts";
export type {
  PatternGuardrailOptions,
  PersonalDataKind,
  PersonalDataOptions,
  PromptInjectionOptions,
} from "./guardrails/guardrail-options.ts";
export type {
  ArgumentEffect,
  ArgumentGuardrail,
  GuardedArguments,
  GuardedCall,
  GuardedResult,
  Guardrail,
  GuardrailFinding,
  ResultEffect,
  ResultGuardrail,
} from "./guardrails/guardrails.ts";
export { personalData } from "./guardrails/personal-data.ts";
export { promptInjection } from "./guardrails/prompt-injection.ts";
export { patternGuardrail } from "./guardrails/text-guardrail.ts";
export type {
  ActiveSkills,
  Decision,
  EffectiveLine,
  EffectivePolicy,
  EffectiveQuery,
  ExtraLayer,
  Facts,
  Finding,
  Policy,
  RiskGuess,
  Suggestion,
  ToolFacts,
} from "./policy.ts";
export type { Expectation, ExpectationResult, ExpectedPast } from "./report/expectations.ts";
export type { VerdictChange, VerdictGroup } from "./report/simulate.ts";
export type { PolicyWarning } from "./report/unmatched.ts";
export { policyWarnings } from "./report/warnings.ts";
export type { GuessedTool } from "./risk/guess.ts";
export { guessRisk } from "./risk/guess.ts";
export type {
  Condition,
  Conditions,
  HistoryLimit,
  PastSelector,
  Rule,
  SandboxConstraint,
} from "./rules/rule-schema.ts";
export { skillsForbid } from "./rules/skill-layer.ts";
export type { AdjusterOptions, MatrixChanges, PackOptions, PolicyOptions, QuietHours } from "./schema.ts";

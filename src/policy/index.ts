/**
 * `postern/policy`: policies, rules, conditions, guardrails, history limits and risk guesses.
 *
 * @packageDocumentation
 */
export type { PolicyFace, SimulateFilter, Simulation } from "../policy-face.ts";
export type { AdjusterOptions } from "./adjusters.ts";
export type { Condition, Conditions } from "./condition.ts";
export type { ControlChange, ControlState, Controls } from "./controls.ts";
export type { PolicyOptions } from "./decide.ts";
export { createPolicy } from "./decide.ts";
export type { Expectation, ExpectationResult, ExpectedPast } from "./expectations.ts";
export type {
  ArgumentGuardrail,
  ArgumentSays,
  GuardedArguments,
  GuardedCall,
  GuardedResult,
  Guardrail,
  GuardrailFinding,
  ResultGuardrail,
  ResultSays,
} from "./guardrails.ts";
export type { GuessedTool } from "./guess.ts";
export { guessRisk } from "./guess.ts";
export type { HistoryLimit, PastSelector } from "./history-limit.ts";
export type { MatrixChanges } from "./matrix.ts";
export type { PackOptions } from "./pack.ts";
export type { PatternGuardrailOptions } from "./pattern-guardrail.ts";
export { patternGuardrail } from "./pattern-guardrail.ts";
export type { PersonalDataKind, PersonalDataOptions } from "./personal-data.ts";
export { personalData } from "./personal-data.ts";
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
  ToolFacts,
} from "./policy.ts";
export type { PromptInjectionOptions } from "./prompt-injection.ts";
export { promptInjection } from "./prompt-injection.ts";
export type { QuietHours } from "./quiet-hours.ts";
export type { Rule } from "./rules.ts";
export type { SandboxConstraint } from "./sandbox.ts";
export type { VerdictChange } from "./simulate.ts";
export type { PolicyWarning } from "./warnings.ts";
export { policyWarnings } from "./warnings.ts";

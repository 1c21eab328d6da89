/** The policy in the public API: what it decides, and what another policy would decide. */
import type { Actor, Autonomy } from "@postern/core";
import type { Explanation } from "../../pipeline/explain.ts";
import type { PolicyOptions } from "../../policy/decide.ts";
import type { Guardrail } from "../../policy/guardrails/guardrails.ts";
import type { EffectivePolicy, EffectiveQuery, Policy } from "../../policy/policy.ts";
import type { Expectation, ExpectationResult } from "../../policy/report/expectations.ts";
import type { VerdictChange, VerdictGroup } from "../../policy/report/simulate.ts";
import type { PolicyWarning } from "../../policy/report/unmatched.ts";

/**
 * Which recorded calls are replayed.
 *
 * @public
 */
export interface SimulateFilter {
  readonly tenant?: string;
  readonly tool?: string;
  readonly runId?: string;
  /** How many of the latest calls; default 1,000, at most 10,000. */
  readonly limit?: number;
}

/**
 * What another policy would have decided.
 *
 * @public
 */
export interface Simulation {
  /** Versions of the two policies. */
  readonly before: string;
  readonly after: string;
  readonly replayed: number;
  /** Recorded calls of tools that are gone, by tool; they are not replayed. */
  readonly unknownTools: Readonly<Record<string, number>>;
  /** Whether the past that rules read was too long to read whole. Limits over it may then be judged too mildly. */
  readonly pastIsCut: boolean;
  /** Oldest first. */
  readonly changes: readonly VerdictChange[];
  /** `changes` by action and verdicts, the largest group first; at most 100 groups. */
  readonly groups: readonly VerdictGroup[];
  /** The requests that wait. Each is decided as if its call began now; `replayed` and `changes` do not have them. */
  readonly waiting: {
    /** How many were decided. */
    readonly requests: number;
    /** Whether there are more: at most 10,000 are decided. */
    readonly isCut: boolean;
    readonly groups: readonly VerdictGroup[];
  };
}

/**
 * What decides about calls from now on. A part that is left out stays.
 *
 * @public
 */
export interface PolicyReplacement {
  readonly policy?: PolicyOptions | Policy;
  readonly guardrails?: readonly Guardrail[];
  /** The configured level. A level that an operator set still holds. */
  readonly autonomy?: Autonomy;
}

/**
 * What a replacement changed.
 *
 * @public
 */
export interface PolicyReplaced {
  /** Versions of the two policies. They are equal if only guardrails or the level differ. */
  readonly before: string;
  readonly after: string;
  /** One sentence a change; empty if nothing differs. */
  readonly changes: readonly string[];
}

/**
 * The policy of this runtime, and comparison with others. Only `replace` writes; nothing here runs a tool.
 *
 * @public
 */
export interface PolicyApi {
  readonly version: string;
  /**
   * The decision for each tool, and why. With a run, its active skills count; without one, the requests of all skills
   * are listed. Returns undefined if the policy is your own and has no such method.
   */
  effective(
    query?: Partial<Omit<EffectiveQuery, "skills" | "requests">> & { readonly runId?: string },
  ): EffectivePolicy | undefined;
  /** Probable mistakes in a policy; default: in the policy of this runtime. */
  warnings(policy?: PolicyOptions): readonly PolicyWarning[];
  /** What would be decided now about a recorded call, by id or key, with its authority; and what was decided. Returns undefined if there is no such call. */
  explainCall(callId: string): Promise<Explanation | undefined>;
  /** Judges the latest recorded calls and the requests that wait by another policy, and lists those whose verdict changes. */
  simulate(policy: PolicyOptions | Policy, where?: SimulateFilter): Promise<Simulation>;
  /**
   * Puts another policy in force, and records it in the audit log with its changes. Calls that run go on; every other call
   * is judged by the new policy before it starts, also one that waited for a person. If it throws, nothing has changed.
   *
   * @param more `source` says for people where it came from, for example the name of a file
   * @throws RuntimeFault `policy_invalid`, `options_invalid`; what the store throws if it cannot be recorded
   *
   * @example
   * await runtime.policy.replace({ policy: { rules: [{ effect: "deny", tool: "delete_*" }] } }, { by: "ada", via: "cli" });
   */
  replace(
    next: PolicyReplacement,
    by: Actor,
    more?: { readonly reason?: string; readonly source?: string },
  ): Promise<PolicyReplaced>;
  /**
   * What `replace` would change. Nothing changes.
   *
   * @throws RuntimeFault `policy_invalid`, `options_invalid`
   */
  compare(next: PolicyReplacement): Promise<PolicyReplaced>;
  /** Checks expectations against a policy. `autonomy` is the default for expectations without a level. */
  test(
    policy: PolicyOptions | Policy,
    expectations: readonly Expectation[],
    autonomy?: Autonomy,
  ): readonly ExpectationResult[];
}

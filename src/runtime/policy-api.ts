/** The policy as the public face has it: what it says, and what another one would have said. policy-service.ts answers. */
import type { Autonomy } from "../core/call.ts";
import type { Explanation } from "../pipeline/explain.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import type { EffectivePolicy, EffectiveQuery, Policy } from "../policy/policy.ts";
import type { Expectation, ExpectationResult } from "../policy/report/expectations.ts";
import type { VerdictChange } from "../policy/report/simulate.ts";
import type { PolicyWarning } from "../policy/report/warnings.ts";

/**
 * Which recorded calls are replayed.
 *
 * @public
 */
export interface SimulateFilter {
  readonly tenant?: string;
  readonly tool?: string;
  readonly runId?: string;
  /** The last so many; 1,000 when left out, 10,000 at most. */
  readonly limit?: number;
}

/**
 * What another policy would have answered (`PolicyFace.simulate`).
 *
 * @public
 */
export interface Simulation {
  /** Versions of the two policies. */
  readonly before: string;
  readonly after: string;
  readonly replayed: number;
  /** Recorded calls of tools nobody offers any more, by tool: they are not replayed. */
  readonly unknownTools: Readonly<Record<string, number>>;
  /** Not everything that rules look back to could be read: limits over a long past may be judged too mildly. */
  readonly pastIsCut: boolean;
  /** Old to new. */
  readonly changes: readonly VerdictChange[];
}

/**
 * The policy that decides here, and others held against it. Nothing here runs a tool or writes.
 *
 * @public
 */
export interface PolicyApi {
  readonly version: string;
  /**
   * What is so for each tool and why (SPEC 5.6). With a run, for the skills that are active in it; without one, of all
   * skills is told what they would ask for. Undefined: the policy is an own one that cannot say.
   */
  effective(
    query?: Partial<Omit<EffectiveQuery, "skills" | "requests">> & { readonly runId?: string },
  ): EffectivePolicy | undefined;
  /** What nobody meant; of this runtime's own policy when none is given. */
  warnings(policy?: PolicyOptions): readonly PolicyWarning[];
  /** What would be decided today about a recorded call as it runs, by its id or key, with the authority it had; and what is recorded of it. Undefined: there is none. */
  explainCall(callId: string): Promise<Explanation | undefined>;
  /** Puts the last recorded calls to another policy, and tells whose verdict changes. */
  simulate(policy: PolicyOptions | Policy, where?: SimulateFilter): Promise<Simulation>;
  /** Asks a table of expectations. `autonomy`: for those that say none. */
  test(
    policy: PolicyOptions | Policy,
    expectations: readonly Expectation[],
    autonomy?: Autonomy,
  ): readonly ExpectationResult[];
}

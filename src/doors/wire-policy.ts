/** What policy says of itself, as it goes over the wire. */
import type { Reason } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";
import type { EffectiveLine, EffectivePolicy } from "../policy/policy.ts";
import type { ExpectationResult } from "../policy/report/expectations.ts";
import type { VerdictChange } from "../policy/report/simulate.ts";
import type { PolicyWarning } from "../policy/report/warnings.ts";
import type { Simulation } from "../policy-face.ts";
import { iso, type PrincipalWire, principalToWire } from "./wire.ts";
import { type DecisionWire, decisionToWire } from "./wire-tools.ts";

export interface EffectiveLineWire {
  readonly tool: string;
  readonly action: string;
  readonly server?: string | undefined;
  readonly risk: EffectiveLine["risk"];
  readonly verdict: EffectiveLine["verdict"];
  readonly by: Reason;
  readonly depends: readonly Reason[];
  readonly requested_by: readonly string[];
}

export interface PolicyWire {
  readonly policy_version: string;
  /** Null: this policy cannot tell it. */
  readonly lines: readonly EffectiveLineWire[] | null;
  readonly unknown_requests: EffectivePolicy["unknownRequests"];
  readonly warnings: readonly PolicyWarning[];
}

export function policyToWire(
  version: string,
  effective: EffectivePolicy | undefined,
  warnings: readonly PolicyWarning[],
): PolicyWire {
  const lines = effective?.lines.map(({ requestedBy, ...line }) => ({ ...line, requested_by: requestedBy }));
  return {
    policy_version: version,
    lines: lines ?? null,
    unknown_requests: effective?.unknownRequests ?? [],
    warnings,
  };
}

export interface VerdictChangeWire {
  readonly call_id: string;
  readonly tool: string;
  readonly action: string;
  readonly requested_by: PrincipalWire;
  readonly run_id: string;
  readonly at: string;
  readonly arguments: JsonObject;
  /** A person had changed what was sent: these ran. */
  readonly edited?: true | undefined;
  readonly before: DecisionWire;
  readonly after: DecisionWire;
}

export interface SimulationWire {
  readonly before_version: string;
  readonly after_version: string;
  readonly replayed: number;
  readonly unknown_tools: Readonly<Record<string, number>>;
  readonly past_is_cut: boolean;
  readonly changes: readonly VerdictChangeWire[];
  readonly warnings: readonly PolicyWarning[];
}

export function simulationToWire(simulation: Simulation, warnings: readonly PolicyWarning[]): SimulationWire {
  return {
    before_version: simulation.before,
    after_version: simulation.after,
    replayed: simulation.replayed,
    unknown_tools: simulation.unknownTools,
    past_is_cut: simulation.pastIsCut,
    changes: simulation.changes.map(changeToWire),
    warnings,
  };
}

function changeToWire(change: VerdictChange): VerdictChangeWire {
  return {
    call_id: change.callId,
    tool: change.tool,
    action: change.action,
    requested_by: principalToWire(change.principal),
    run_id: change.runId,
    at: iso(change.at),
    arguments: change.arguments,
    edited: change.edited,
    before: decisionToWire(change.before),
    after: decisionToWire(change.after),
  };
}

export interface ExpectationResultWire {
  readonly name: string;
  readonly where?: string | undefined;
  readonly passed: boolean;
  readonly expected: ExpectationResult["expected"];
  readonly decision?: DecisionWire | undefined;
  readonly problem?: string | undefined;
}

export interface PolicyTestWire {
  readonly passed: boolean;
  readonly results: readonly ExpectationResultWire[];
  readonly warnings: readonly PolicyWarning[];
}

export function testToWire(results: readonly ExpectationResult[], warnings: readonly PolicyWarning[]): PolicyTestWire {
  return {
    passed: results.every(({ passed }) => passed),
    results: results.map((one) => ({ ...one, decision: one.decision && decisionToWire(one.decision) })),
    warnings,
  };
}

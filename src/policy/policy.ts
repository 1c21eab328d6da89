/**
 * What is allowed. One pure function, `decide(facts)`: permission, scopes, risk and verdict in one answer, with every
 * rule that shaped it. `explain`, `simulate`, the verdict gate and an approver's edit ask exactly this.
 *
 * Invariant: equal facts, equal decision; deny wins; nothing inside lowers what another rule demands; an error is a DENY.
 * Next: decide.ts (the order of thought), matrix.ts (autonomy × risk), rules.ts (allow, confirm, deny), controls.ts (the operator's switches).
 */
import type { Autonomy, Principal, Risk, Verdict } from "../calls/call.ts";
import type { Reason, Weighing } from "../calls/event.ts";
import type { JsonObject } from "../calls/json.ts";

/** What policy may know of a tool's action. Data, so that a decision can be replayed years later. */
export interface ToolFacts {
  readonly tool: string;
  readonly action: string;
  /** The upstream server it comes from; none: our own process. */
  readonly server?: string;
  /** risk_map[action], else the tool's default (SPEC 6.1). */
  readonly risk: Risk;
  /** Where that risk comes from: the tool's author, the operator's file, or the default for strangers. */
  readonly riskSource: "declared" | "operator" | "default";
  readonly effects: "read" | "write" | "destructive";
  /** Union of the tool's and the action's (C24). */
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
}

/** What a tool says of one particular call (`classifyRisk`, SPEC 2.4, D11). */
export interface Suggestion {
  readonly risk?: Risk;
  readonly summary?: string;
  readonly target?: string;
  readonly recipients?: readonly string[];
}

/** What this run did so far; rules on it come with their own layer. */
export interface History {
  readonly version: number;
  readonly tainted: boolean;
}

export interface Facts {
  readonly tool: ToolFacts;
  readonly principal: Principal;
  readonly scopes: readonly string[];
  /** The lower of the call's own level and the operator's current one (D24). None: the threshold decides (SPEC 6.6). */
  readonly autonomy: Autonomy | undefined;
  /** Above it a person is asked. The session's own, when it set one. */
  readonly maxRiskUnapproved: Risk | undefined;
  readonly suggestion: Suggestion | undefined;
  readonly arguments: JsonObject;
  readonly history: History;
}

/** One answer. `Weighing` is the part that is recorded with the call. */
export interface Decision extends Weighing {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  /** Never empty: a default is named as well. */
  readonly reasons: readonly Reason[];
  readonly missingScope?: string;
}

export interface Policy {
  /** Digest of everything that shapes a decision: what a record says it was decided under. */
  readonly version: string;
  decide(facts: Facts): Decision;
  /** The part of `decide` that needs no arguments: what a caller is shown. */
  offers(principal: Principal, tool: ToolFacts): boolean;
}

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
  /** Its results come from outside (web, mail, strangers' servers): they may carry somebody else's wishes. Left out: no. */
  readonly openWorld?: boolean;
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
  /** How many things this call changes: files, rows, mails. What a blast radius is measured in. */
  readonly affected?: number;
}

/** One call that was claimed before. Refused ones left no trace here. */
export interface PastCall {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly effects: ToolFacts["effects"];
  readonly risk: Risk;
  /** Wall clock of its claim, milliseconds. */
  readonly at: number;
  readonly state: "attempted" | "ok" | "failed" | "unknown";
  readonly target?: string;
  /** As kept: redacted. */
  readonly arguments: JsonObject;
}

/** Whose past a rule looks at. */
export type HistoryScope = "run" | "principal" | "tenant";

/** What was done in one scope so far, oldest first, no further back than the policy reads (`Policy.reads`). */
export interface History {
  /** Moves with every claim in the scope: what was decided over an older one is decided again before it may run. */
  readonly version: number;
  /** A result from the open world has been seen. */
  readonly tainted: boolean;
  readonly calls: readonly PastCall[];
}

/** Only the scopes the policy reads are there. */
export type Histories = { readonly [S in HistoryScope]?: History };

/** What the skills that are active in a run restrict and wish for. A skill never grants (SPEC 5.2, 11.2). */
export interface ActiveSkills {
  readonly names: readonly string[];
  /** Union of their `allowed_tools`; undefined: none of them restricts. Patterns as in rules. */
  readonly allowedTools: readonly string[] | undefined;
}

/** What a guardrail found in the arguments of a call (D30). It can only make a decision stricter. */
export interface Finding {
  readonly guardrail: string;
  readonly says: "DENY" | "CONFIRM" | "RAISE";
  readonly why: string;
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
  readonly history: Histories;
  /** Wall clock, milliseconds: what windows and quiet hours are measured by. */
  readonly now: number;
  readonly skills?: ActiveSkills | undefined;
  readonly findings?: readonly Finding[] | undefined;
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
  /** How far back its rules look, in milliseconds, by scope; a scope that is not named is not read. `Infinity`: all of it. */
  readonly reads?: { readonly [S in HistoryScope]?: number };
  decide(facts: Facts): Decision;
  /** The part of `decide` that needs no arguments: what a caller is shown. */
  offers(principal: Principal, tool: ToolFacts): boolean;
}

/**
 * What is allowed. One pure function, `decide(facts)`, answers with permission, scopes, risk and verdict, and with every
 * rule that shaped the answer. `explain`, `simulate`, the verdict gate and an approver's edit all use it.
 *
 * Invariant: equal facts give equal decisions; deny wins; no rule lowers what another one demands; an error is a DENY.
 * Next: layers.ts (the order of a decision), rules.ts (allow, confirm, deny), condition.ts and history-limit.ts (what a rule
 * asks of arguments and of the past), matrix.ts (autonomy × risk), controls.ts (the operator's switches).
 */
import type { Autonomy, JsonObject, Principal, Reason, Risk, Verdict, Weighing } from "@postern/core";

/** What the policy knows about a tool's action. It is data, so a decision can be replayed years later. */
export interface ToolFacts {
  readonly tool: string;
  readonly action: string;
  /** The upstream server it comes from. Left out for tools of our own process. */
  readonly server?: string;
  /** The action's own, else the tool's. */
  readonly risk: Risk;
  /** Where that risk comes from: the tool's author, the operator's file, the default, or a guess about an upstream tool. */
  readonly riskSource: "declared" | "operator" | "default" | "guess";
  /** The guess, for people. Postern enforces `risk`. */
  readonly guess?: RiskGuess;
  readonly effects: "read" | "write" | "destructive";
  /** Its results come from outside (web, mail, third-party servers) and may carry instructions of others. Default: false. */
  readonly openWorld?: boolean;
  /** The operator only observes its server: the decision is made in mode `observe`. */
  readonly observe?: boolean;
  /** The tool's and the action's together. */
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
}

/** The risk that name, description, schema and annotations of an upstream tool suggest (guess.ts). */
export interface RiskGuess {
  readonly risk: Risk;
  readonly effects: "read" | "write" | "destructive";
  /** Its results may come from outside. */
  readonly openWorld: boolean;
  readonly why: readonly string[];
}

/** What a tool states about one call (`classifyRisk`). */
export interface Suggestion {
  readonly risk?: Risk;
  readonly summary?: string;
  readonly target?: string;
  readonly recipients?: readonly string[];
  /** How many things this call changes: files, rows, mails. */
  readonly affected?: number;
  /** Why a person must approve this call, whatever its risk. No grant answers for it. */
  readonly confirm?: string;
}

/** A call that was claimed before. Refused calls are not in the history. */
export interface PastCall {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly effects: ToolFacts["effects"];
  readonly risk: Risk;
  /** Wall clock of its claim, milliseconds. */
  readonly at: number;
  readonly state: "attempted" | "ok" | "failed" | "unknown";
  /** It is suspended and waits for a person. Sending it again continues it. */
  readonly waits?: boolean;
  /** A call with the same key is the same call. */
  readonly key?: string;
  readonly target?: string;
  /** Redacted. */
  readonly arguments: JsonObject;
}

/** Whose past a rule reads. */
export type HistoryScope = "run" | "principal" | "tenant";

/** Earlier calls in one scope, oldest first, no further back than the policy reads (`Policy.reads`). */
export interface History {
  /** Changes with every claim in the scope. A decision over an older version is made again before the call may run. */
  readonly version: number;
  /** A result from outside was returned. */
  readonly tainted: boolean;
  readonly calls: readonly PastCall[];
}

/** Only the scopes that the policy reads. */
export type Histories = { readonly [S in HistoryScope]?: History };

/** How the active skills of a run restrict it. A skill never grants. */
export interface ActiveSkills {
  readonly names: readonly string[];
  /** All their `allowed_tools`; patterns as in rules. Undefined if no skill restricts. */
  readonly allowedTools: readonly string[] | undefined;
  /** The skills that restrict the agent in each of its runs. They must allow a tool too. */
  readonly held?: ActiveSkills;
}

/** The tools with which an agent finds skills. No active skill removes them, and no other tool may take their names. */
export const alwaysOffered: readonly string[] = Object.freeze(["list_skills", "load_skill", "skills"]);

/** What a guardrail found in the arguments of a call. It can only make a decision stricter. */
export interface Finding {
  readonly guardrail: string;
  readonly effect: "DENY" | "CONFIRM" | "RAISE";
  readonly why: string;
}

/** The failure of a guardrail with `onFailure: "open"`. It is a reason, but decides nothing. */
export interface OpenFailure extends Omit<Finding, "effect"> {
  readonly effect: "ALLOW";
}

export interface Facts {
  readonly tool: ToolFacts;
  readonly principal: Principal;
  readonly scopes: readonly string[];
  /** The lower of the call's own level and the operator's current one. Undefined: the threshold decides. */
  readonly autonomy: Autonomy | undefined;
  /** The session's own threshold. Above it a person is asked. */
  readonly maxRiskUnapproved: Risk | undefined;
  readonly suggestion: Suggestion | undefined;
  /** With the content of the artifacts that they name. */
  readonly arguments: JsonObject;
  /** The artifacts that are too large to read. They stay references in `arguments`. */
  readonly unread?:
    | {
        /** Each with its path and size. */
        readonly what: readonly string[];
        /** A guardrail, or the tool's `classifyRisk`, would have read them. */
        readonly wouldBeRead: boolean;
      }
    | undefined;
  readonly history: Histories;
  /** The key of this call, if the caller gave one or the call continues. Given only with a history. */
  readonly key?: string | undefined;
  /** Wall clock, milliseconds, for windows and quiet hours. */
  readonly now: number;
  readonly skills?: ActiveSkills | undefined;
  readonly findings?: readonly (Finding | OpenFailure)[] | undefined;
}

/**
 * A layer from outside, for example a Cedar policy set. It examines every call and can only make a decision stricter. If it
 * throws, or returns anything but a list of findings, the decision is DENY.
 */
export interface ExtraLayer {
  readonly name: string;
  /** A digest of its content, part of the policy's version. */
  readonly version: string;
  weigh(facts: Facts): readonly Finding[];
}

/** `Weighing` is the part that is recorded with the call. */
export interface Decision extends Weighing {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  /** Never empty: a default is a reason too. */
  readonly reasons: readonly Reason[];
  readonly missingScope?: string;
  /** With BLOCK: the part of the optional pack that blocks, if nothing else does. Such a block passes with time. */
  readonly blockedBy?: "antiflap" | "storm";
  /** In mode `observe`: the verdict of mode `enforce`. The last of `reasons` says the same. */
  readonly observed?: Verdict | "DENY";
}

/** How far back rules read, in milliseconds, by scope. A missing scope is not read. `Infinity`: everything. */
export type Reads = { readonly [S in HistoryScope]?: number };

/** The tools that a skill's file asks for. They are reported, never granted. */
export interface SkillRequest {
  readonly skill: string;
  readonly tools: readonly string[];
}

/** The caller for whom the effective policy is computed. Without `scopes`, all scopes count as granted. */
export interface EffectiveQuery {
  readonly principal: Principal;
  readonly scopes?: readonly string[];
  readonly autonomy?: Autonomy;
  readonly maxRiskUnapproved?: Risk;
  readonly skills?: ActiveSkills;
  readonly requests?: readonly SkillRequest[];
}

/** The verdict for one tool's action if no condition changes it, and the rule that decides. */
export interface EffectiveLine {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly risk: Risk;
  readonly verdict: Verdict | "DENY";
  /** The rule that decided. */
  readonly by: Reason;
  /** Rules that depend on arguments, on the past or on the risk of one call, and could change the verdict. */
  readonly depends: readonly Reason[];
  /** Active skills that ask for the tool. */
  readonly requestedBy: readonly string[];
}

export interface EffectivePolicy {
  readonly version: string;
  /** Sorted by tool and action. */
  readonly lines: readonly EffectiveLine[];
  /** Tools that skills ask for and that are not registered. */
  readonly unknownRequests: readonly { readonly skill: string; readonly tool: string }[];
}

export interface Policy {
  /** A digest of everything that shapes a decision. Records name it. */
  readonly version: string;
  readonly reads?: Reads | undefined;
  /** The part of `reads` that this tool needs. Without this method: all of it. */
  readsFor?(tool: ToolFacts): Reads | undefined;
  decide(facts: Facts): Decision;
  /** Whether some call of the tool could be permitted. A caller sees only such tools. */
  offers(principal: Principal, tool: ToolFacts): boolean;
  /** The verdict for each tool and its reason. */
  effective?(tools: readonly ToolFacts[], query: EffectiveQuery): EffectivePolicy;
}

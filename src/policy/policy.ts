/**
 * What is allowed. One pure function, `decide(facts)`: permission, scopes, risk and verdict in one answer, with every
 * rule that shaped it. `explain`, `simulate`, the verdict gate and an approver's edit ask exactly this.
 *
 * Invariant: equal facts, equal decision; deny wins; nothing inside lowers what another rule demands; an error is a DENY.
 * Next: decide.ts (the order of thought), rules.ts (allow, confirm, deny), condition.ts and history-limit.ts (what a rule asks
 * of arguments and of the past), matrix.ts (autonomy × risk), controls.ts (the operator's switches).
 */
import type { Autonomy, Principal, Risk, Verdict } from "../core/call.ts";
import type { Reason, Weighing } from "../core/event.ts";
import type { JsonObject } from "../core/json.ts";

/** What policy may know of a tool's action. Data, so that a decision can be replayed years later. */
export interface ToolFacts {
  readonly tool: string;
  readonly action: string;
  /** The upstream server it comes from; none: our own process. */
  readonly server?: string;
  /** The action's own, else the tool's (SPEC 6.1). */
  readonly risk: Risk;
  /** Where that risk comes from: the tool's author, the operator's file, the default, or a guess about a stranger's tool. */
  readonly riskSource: "declared" | "operator" | "default" | "guess";
  /** What was guessed, for people: what is enforced stands in `risk`. */
  readonly guess?: RiskGuess;
  readonly effects: "read" | "write" | "destructive";
  /** Its results come from outside (web, mail, strangers' servers): they may carry somebody else's wishes. Left out: no. */
  readonly openWorld?: boolean;
  /** Union of the tool's and the action's (C24). */
  readonly scopes: readonly string[];
  readonly permissions: readonly string[];
}

/** What name, description, schema and annotations of a stranger's tool suggest (guess.ts). Never more than a guess. */
export interface RiskGuess {
  readonly risk: Risk;
  readonly effects: "read" | "write" | "destructive";
  /** Its results may carry strangers' words. */
  readonly openWorld: boolean;
  readonly why: readonly string[];
}

/** What a tool says of one particular call (`classifyRisk`, SPEC 2.4, D11). */
export interface Suggestion {
  readonly risk?: Risk;
  readonly summary?: string;
  readonly target?: string;
  readonly recipients?: readonly string[];
  /** How many things this call changes: files, rows, mails. What a blast radius is measured in. */
  readonly affected?: number;
  /** Why a person must approve this very call, whatever its risk: no grant answers for it. */
  readonly confirm?: string;
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
  /** It has suspended, and waits for a person: who sends it again goes on with it. */
  readonly waits?: boolean;
  /** Which call it is: one with the same key is that call once more. */
  readonly key?: string;
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
  /** What the agent is held to in each of its runs: a tool must be allowed by that too. */
  readonly held?: ActiveSkills;
}

/** How an agent finds skills at all: no active skill takes these away (C17, D3). Where there are skills, only our own bear the names. */
export const alwaysOffered: readonly string[] = Object.freeze(["list_skills", "load_skill", "skills"]);

/** What a guardrail found in the arguments of a call (D30). It can only make a decision stricter. */
export interface Finding {
  readonly guardrail: string;
  readonly says: "DENY" | "CONFIRM" | "RAISE";
  readonly why: string;
}

/** A guardrail that failed and is set to let calls pass then: it is told, and decides nothing. */
export interface OpenFailure extends Omit<Finding, "says"> {
  readonly says: "ALLOW";
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
  /** With the content of the artifacts they name. */
  readonly arguments: JsonObject;
  /** The artifacts that are too large to look at: they stay references in `arguments`. */
  readonly unread?:
    | {
        /** Each with its path and size. */
        readonly what: readonly string[];
        /** A guardrail, or the tool's own look at its arguments, would have read them. */
        readonly wouldBeRead: boolean;
      }
    | undefined;
  readonly history: Histories;
  /** Which call this is, when its caller said so, or when it goes on. Told only where the past is. */
  readonly key?: string | undefined;
  /** Wall clock, milliseconds: what windows and quiet hours are measured by. */
  readonly now: number;
  readonly skills?: ActiveSkills | undefined;
  readonly findings?: readonly (Finding | OpenFailure)[] | undefined;
}

/**
 * A layer from outside, a Cedar policy set for example. It is asked about every call and can only make a decision stricter;
 * one that throws, or answers anything but a list of findings, is a DENY.
 */
export interface ExtraLayer {
  readonly name: string;
  /** Digest of what it decides by: part of the policy's version. */
  readonly version: string;
  weigh(facts: Facts): readonly Finding[];
}

/** One answer. `Weighing` is the part that is recorded with the call. */
export interface Decision extends Weighing {
  readonly verdict: Verdict | "DENY";
  readonly risk: Risk;
  /** Never empty: a default is named as well. */
  readonly reasons: readonly Reason[];
  readonly missingScope?: string;
  /** With BLOCK: the part of the optional pack that blocks, when nothing else does. It passes with time. */
  readonly blockedBy?: "antiflap" | "storm";
  /** In mode `observe`: what `enforce` would have answered. The last of `reasons` says the same. */
  readonly observed?: Verdict | "DENY";
}

/** How far back rules look, in milliseconds, by scope; a scope that is not named is not read. `Infinity`: all of it. */
export type Reads = { readonly [S in HistoryScope]?: number };

/** A skill's wish, as it stands in its file. It is reported, never granted (SPEC 5.2). */
export interface SkillRequest {
  readonly skill: string;
  readonly tools: readonly string[];
}

/** For whom the effective policy is computed. What is left out does not matter to the report: scopes count as granted. */
export interface EffectiveQuery {
  readonly principal: Principal;
  readonly scopes?: readonly string[];
  readonly autonomy?: Autonomy;
  readonly maxRiskUnapproved?: Risk;
  readonly skills?: ActiveSkills;
  readonly requests?: readonly SkillRequest[];
}

/** What holds for one tool's action as long as no condition says otherwise, and by which rule (SPEC 5.6). */
export interface EffectiveLine {
  readonly tool: string;
  readonly action: string;
  readonly server?: string;
  readonly risk: Risk;
  readonly verdict: Verdict | "DENY";
  /** The rule that decided. */
  readonly by: Reason;
  /** Rules that hang on arguments, on the past or on the risk of one call, and could change the verdict. */
  readonly depends: readonly Reason[];
  /** Active skills that ask for it. With the verdict DENY: asked for, and not enabled. */
  readonly requestedBy: readonly string[];
}

export interface EffectivePolicy {
  readonly version: string;
  /** By tool and action: equal questions, equal reports. */
  readonly lines: readonly EffectiveLine[];
  /** What skills ask for and nobody registered. */
  readonly unknownRequests: readonly { readonly skill: string; readonly tool: string }[];
}

export interface Policy {
  /** Digest of everything that shapes a decision: what a record says it was decided under. */
  readonly version: string;
  readonly reads?: Reads | undefined;
  /** The part of `reads` that can matter to this tool. Left out: all of it. */
  readsFor?(tool: ToolFacts): Reads | undefined;
  decide(facts: Facts): Decision;
  /** The part of `decide` that needs no arguments: what a caller is shown. */
  offers(principal: Principal, tool: ToolFacts): boolean;
  /** What is so for each tool and why (SPEC 5.6). */
  effective?(tools: readonly ToolFacts[], query: EffectiveQuery): EffectivePolicy;
}

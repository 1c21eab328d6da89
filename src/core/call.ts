/**
 * What a call is: plain JSON, so that it can be stored, shipped to a worker, shown to a person and replayed.
 *
 * Invariant: a ToolCall is never changed. What the gates learn of it is added by stages (pipeline/gates/stages.ts);
 * a call that enters the line again is a new arrival of the same recorded call (`resumes`).
 * Next: outcome.ts and ending.ts say how a call leaves, records.ts what is kept of it, event.ts what is told of it.
 */
import type { JsonObject } from "./json.ts";

/** SPEC 3.1. One ordered scale; compare by rank (`risk.ts`), never as text. */
export type Risk = "safe" | "medium" | "high" | "critical";
/** SPEC 6.4. What an agent may do unasked: A0 suggests only, A4 acts fully. */
export type Autonomy = "A0" | "A1" | "A2" | "A3" | "A4";
/** What the gate answers, mildest first: ALLOW runs, CONFIRM asks, PREVIEW shows, BLOCK refuses whatever a person says. */
export type Verdict = "ALLOW" | "CONFIRM" | "PREVIEW" | "BLOCK";

/** Who calls. `via` says how that was established: the library's word, a token, an operator's session. */
export interface Principal {
  readonly tenant: string;
  readonly agent: string;
  readonly user?: string;
  readonly via?: string;
  /** The person who made the token that an agent calls with: who asks is they, whatever the token says of its user. */
  readonly owner?: string;
}

/**
 * On whose behalf a call is made and what that one may do. One object a session: its calls share it, a child call
 * inherits it and never widens it.
 */
export interface Authority {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  /** None: the threshold decides instead of the matrix (SPEC 6.6). */
  readonly autonomy?: Autonomy;
  readonly runId: string;
  /** 32 hex digits. */
  readonly traceId: string;
  readonly taskId?: string;
  readonly stepId?: string;
  /** The session's own threshold (SPEC 6.5). */
  readonly maxRiskUnapproved?: Risk;
  /** Set when the call comes out of a script: some tools cannot be called from there. */
  readonly fromChain?: true;
}

export interface ToolCall {
  /** One arrival: `call_` + UUIDv7. The call itself is its key: several arrivals may be the same call. */
  readonly id: string;
  readonly tool: string;
  readonly action: string;
  readonly arguments: JsonObject;
  /** RFC 8785 text of `arguments`: what is hashed, kept, shown and run. */
  readonly text: string;
  /** SHA-256 of `text`. */
  readonly digest: string;
  readonly authority: Authority;
  /** Wall clock, milliseconds. */
  readonly arrivedAt: number;
  /** Why the arguments could not even be read (a cycle, a bigint, half a surrogate pair); they are `{}` then. */
  readonly problem?: string | undefined;
  readonly parentId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The id that a model's provider gave the call: the same id in the same run, with the same arguments, is the same call. */
  readonly toolCallId?: string | undefined;
  /** What is kept of the provider's own item for the call: type, ids, status. */
  readonly providerItem?: JsonObject | undefined;
  /** This is not a new call: it is the recorded one of this key, entering the line again. No door can set it. */
  readonly resumes?: string | undefined;
  /** The approval it goes on with, where it does with one: of no other is it the call. No door can set it, and no row keeps it. */
  readonly resumesBy?: string | undefined;
  /** Of a batch: keys of its calls so far. Equal calls of one batch are meant as several, so none is found by another. No row keeps it. */
  readonly batch?: Set<string> | undefined;
}

/**
 * A call is plain JSON, so it can be stored, sent to a worker, shown to a person and replayed.
 *
 * Invariant: a ToolCall is never changed. The gates add what they learn in stages (pipeline/gates/stages.ts); a call that
 * enters the gates again is a new arrival of the same recorded call (`resumes`).
 * Next: outcome.ts and ending.ts (how a call ends), records.ts (what is stored of it), event.ts (what is announced of it).
 */
import type { JsonObject } from "./json.ts";

/** One ordered scale; compare by rank (`risk.ts`), never as text. */
export type Risk = "safe" | "medium" | "high" | "critical";
/** What an agent may do without approval: A0 only suggests, A4 acts freely. */
export type Autonomy = "A0" | "A1" | "A2" | "A3" | "A4";
/** The decision of the policy, mildest first: ALLOW runs, CONFIRM asks a person, PREVIEW shows, BLOCK refuses without asking. */
export type Verdict = "ALLOW" | "CONFIRM" | "PREVIEW" | "BLOCK";

/** Who calls. `via` says how the caller was authenticated: by the library, a token, a session. */
export interface Principal {
  readonly tenant: string;
  readonly agent: string;
  readonly user?: string;
  /** Groups of the user, as the authorization server says. */
  readonly groups?: readonly string[];
  readonly via?: string;
  /** The person who made the token that the agent calls with. This person counts as the one who asks. */
  readonly owner?: string;
}

/**
 * On whose behalf a call is made, and what the caller may do. The calls of a session share one object; a child call
 * inherits it and can only narrow it.
 */
export interface Authority {
  readonly principal: Principal;
  readonly scopes: readonly string[];
  /** Undefined: the threshold `maxRiskUnapproved` decides instead of the autonomy matrix. */
  readonly autonomy?: Autonomy;
  readonly runId: string;
  /** 32 hex digits. */
  readonly traceId: string;
  readonly taskId?: string;
  readonly stepId?: string;
  /** Calls above this risk need approval. */
  readonly maxRiskUnapproved?: Risk;
  /** Only these tools can be called, by a script of the caller too. Undefined: every tool. */
  readonly tools?: readonly string[];
  /** Set when a script makes the call: scripts cannot call every tool. */
  readonly fromChain?: true;
}

export interface ToolCall {
  /** Names this arrival: `call_` + UUIDv7. The call is named by its key; several arrivals may be the same call. */
  readonly id: string;
  readonly tool: string;
  readonly action: string;
  readonly arguments: JsonObject;
  /** RFC 8785 text of `arguments`, which is hashed, stored, shown and run. */
  readonly text: string;
  /** SHA-256 of `text`. */
  readonly digest: string;
  readonly authority: Authority;
  /** Wall clock, milliseconds. */
  readonly arrivedAt: number;
  /** Why the arguments could not be read (a cycle, a bigint, half a surrogate pair); they are `{}` then. */
  readonly problem?: string | undefined;
  /** Names of the arguments that were typed as text and are not read by the tool's schema yet. It is not stored. */
  readonly texts?: readonly string[] | undefined;
  readonly parentId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The id from the model's provider. It names the call within its turn. */
  readonly toolCallId?: string | undefined;
  /** Names the response of the model that holds the call. Without it, `toolCallId` is the turn. */
  readonly turn?: string | undefined;
  /** Type, ids and status of the provider's own item for the call. */
  readonly providerItem?: JsonObject | undefined;
  /** The key of the recorded call that enters the gates again. Requests from outside cannot set it. */
  readonly resumes?: string | undefined;
  /** The approval that it continues with. Requests from outside cannot set it, and it is not stored. */
  readonly resumesBy?: string | undefined;
  /** Keys of the calls of its batch so far. Equal calls of one batch are different calls. It is not stored. */
  readonly batch?: Set<string> | undefined;
}

/** A script has no effect except through its calls. They are recorded under its key, so a script that is sent again continues from them. */
export function isOnRecord({ tool }: Pick<ToolCall, "tool">): boolean {
  return tool === "tool_chain";
}

/** Whether a second run does no harm: the tool only reads, or is idempotent. The risk does not matter. */
export function isRepeatable(
  call: Pick<ToolCall, "tool">,
  found: { readonly idempotent: boolean; readonly facts: { readonly effects: "read" | "write" | "destructive" } },
): boolean {
  return !isOnRecord(call) && (found.idempotent || found.facts.effects === "read");
}

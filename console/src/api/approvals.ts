/** Requests for approval, as `/v1/approvals` tells and takes them. Names are the wire's. */
import { canonical } from "../kit/canonical.ts";
import { assured } from "./checked.ts";
import { get, post } from "./client.ts";

export type Arguments = Readonly<Record<string, unknown>>;

export interface Preview {
  readonly kind: "text" | "diff" | "table" | "message";
  readonly summary: string;
  readonly diff?: string;
  readonly table?: { readonly columns: readonly string[]; readonly rows: readonly (readonly string[])[] };
  readonly message?: { readonly to?: readonly string[]; readonly subject?: string; readonly body: string };
  readonly details?: unknown;
  readonly supported: boolean;
  readonly problem?: string;
}

export interface Vote {
  readonly as: string;
  readonly by: string;
  readonly via: string;
  readonly at: string;
  readonly on_behalf_of?: string;
  readonly reason?: string;
}

export type DecisionVerb = "approve" | "deny" | "skip" | "modify";

/** What the person here may say to it: the server's word, by the rules it decides by. */
export interface Viewer {
  readonly may: readonly DecisionVerb[];
  /** Why not a yes. */
  readonly message?: string;
  /** In whose place they decide. */
  readonly on_behalf_of?: string;
  /** It is their own, or an agent's of theirs, and they may take it back. */
  readonly withdraws?: true;
}

export interface Addressees {
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
}

export interface Artifact {
  readonly path: string;
  readonly digest: string;
  readonly media_type: string;
  readonly bytes: number;
  readonly text?: string;
}

export interface Approval {
  readonly approval_id: string;
  readonly status: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly trace_id: string;
  readonly refs: { readonly run: string; readonly key: string };
  readonly requested_by: {
    readonly tenant: string;
    readonly agent: string;
    readonly user?: string;
    readonly via?: string;
  };
  readonly risk_level: string;
  readonly autonomy_level?: string;
  readonly what: {
    readonly tool: string;
    readonly action: string;
    readonly arguments: Arguments;
    /** What the references in `arguments` stand for; without `text`, too large to look at. */
    readonly artifacts?: readonly Artifact[];
  };
  readonly asked?: Arguments;
  readonly asked_preview?: Preview;
  readonly why: readonly { readonly rule: string; readonly says: string; readonly where?: string }[];
  readonly summary?: string;
  readonly preview?: Preview;
  readonly preview_digest?: string;
  /** `false`: the preview may differ when the call runs. */
  readonly preview_binds?: boolean;
  readonly policy_version: string;
  readonly definition: string;
  readonly binding: string;
  readonly digest: string;
  /** Of all that is shown of what would run. */
  readonly shown_digest: string;
  readonly input_schema?: Readonly<Record<string, unknown>>;
  readonly routed: {
    readonly rule: string;
    readonly to: Addressees;
    readonly quorum: number;
    readonly typed_confirmation: boolean;
    readonly separate_user: boolean;
    readonly signed_in: boolean;
    readonly escalate_at?: string;
    readonly escalate_to?: Addressees;
  };
  readonly votes: readonly Vote[];
  readonly quorum_left: number;
  readonly remembers_allowed: boolean;
  readonly run_calls?: number;
  readonly reason?: string;
  readonly edited?: { readonly by: string; readonly via: string; readonly at: string };
  readonly escalated_at?: string;
  readonly on_expiry: string;
  readonly decision?: Vote;
  readonly viewer?: Viewer;
}

/** How many wait, by risk. */
export type Waiting = Readonly<Record<"safe" | "medium" | "high" | "critical", number>>;

/** The most urgent first. */
export interface ApprovalPage {
  readonly approvals: readonly Approval[];
  readonly next_after?: string;
  /** On the first page, of whichever risk it is: how many there are. */
  readonly waiting?: Waiting;
}

export function approvalsOf({ approvals }: ApprovalPage): readonly Approval[] {
  return approvals;
}

export function idOf({ approval_id }: Approval): string {
  return approval_id;
}

interface PendingAsked {
  readonly risk?: string | undefined;
  /** Only what the person here may decide. */
  readonly mine?: true | undefined;
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

export function listPending(after: string | undefined, { signal, ...where }: PendingAsked = {}): Promise<ApprovalPage> {
  return get<ApprovalPage>("/v1/approvals", { query: { state: "pending", limit: 200, after, ...where }, signal });
}

/** What waits no more, new to old; `approved`: what may run still, old to new. */
export function listDecided(
  after: string | undefined,
  { state, signal }: { readonly state: "decided" | "approved"; readonly signal: AbortSignal },
): Promise<ApprovalPage> {
  return get<ApprovalPage>("/v1/approvals", { query: { state, limit: 100, after }, signal });
}

export function readApproval(id: string, signal?: AbortSignal): Promise<Approval> {
  return get<Approval>(`/v1/approvals/${encodeURIComponent(id)}`, { signal });
}

export interface Remember {
  readonly scope: { readonly arguments?: Arguments };
  readonly for: "run" | "session" | { readonly until: string };
  readonly reason: string;
}

export interface Said {
  readonly verb: DecisionVerb | "withdraw" | "revoke";
  readonly reason?: string | undefined;
  /** The tool's name, typed. */
  readonly confirmation?: string | undefined;
  readonly arguments?: Arguments | undefined;
  readonly remember?: Remember | undefined;
}

/**
 * Decides what was shown and nothing else: the digest of it goes along.
 * @throws Problem 409 when it has changed since; Error when what was shown does not have that digest
 */
export async function decide(approval: Approval, { verb, ...body }: Said): Promise<Approval> {
  const { approval_id, shown_digest } = approval;
  if (verb === "approve" || verb === "modify") await assured([approval]);
  const expected = verb === "withdraw" || verb === "revoke" ? {} : { expected_digest: shown_digest };
  return post<Approval>(`/v1/approvals/${encodeURIComponent(approval_id)}/${verb}`, { ...body, ...expected });
}

export interface BatchAnswer {
  readonly approval_id: string;
  readonly decided: boolean;
  /** How it stands since. */
  readonly approval?: Approval;
  readonly error?: { readonly code: string; readonly message: string };
}

export async function decideMany(
  approvals: readonly Approval[],
  decision: "approved" | "denied" | "skipped",
  reason?: string | undefined,
): Promise<{ readonly answers: readonly BatchAnswer[] }> {
  if (decision === "approved") await assured(approvals);
  return post("/v1/approvals/batch", {
    ids: approvals.map(({ approval_id }) => approval_id),
    decision,
    reason,
    expected_digests: Object.fromEntries(approvals.map(({ approval_id, shown_digest }) => [approval_id, shown_digest])),
  });
}

/** `everything__echo` is `echo` of the server `everything`; without a server it is our own. */
export function namesOf(tool: string): { readonly server: string | undefined; readonly name: string } {
  const at = tool.indexOf("__");
  return at === -1 ? { server: undefined, name: tool } : { server: tool.slice(0, at), name: tool.slice(at + 2) };
}

/** Whether the person here may say that to it. */
export function maySay({ viewer }: Approval, verb: DecisionVerb): boolean {
  return viewer?.may.includes(verb) === true;
}

/** Needs the tool's name typed: never decided by one key or one click. */
export function needsTyping({ risk_level, routed }: Approval): boolean {
  return risk_level === "critical" || routed.typed_confirmation;
}

/** Requests of one run that differ in their arguments alone, asked for the same reasons, may be decided together; never critical ones. */
export function isAlike(one: Approval, other: Approval): boolean {
  return (
    one.refs.run === other.refs.run &&
    one.what.tool === other.what.tool &&
    one.what.action === other.what.action &&
    one.definition === other.definition &&
    one.risk_level === other.risk_level &&
    canonical(one.why) === canonical(other.why) &&
    !needsTyping(one) &&
    !needsTyping(other)
  );
}

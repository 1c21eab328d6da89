/** Requests for approval, as `/v1/approvals` tells and takes them. Names are the wire's. */
import type {
  ApprovalPageView,
  ApprovalView,
  BatchAnswer,
  approvals as contract,
  DecisionVerb,
  VoteView,
} from "../../../src/server/contract/approvals.ts";
import type { SentTo } from "../../../src/server/contract/route.ts";
import { canonical } from "../kit/canonical.ts";
import { assured } from "./checked.ts";
import { get, post } from "./client.ts";

export type {
  AddresseesView,
  ArtifactView,
  ViewerView,
  WaitingCounts,
} from "../../../src/server/contract/approvals.ts";
export type { PreviewView } from "../../../src/server/contract/outcome.ts";
export type { ApprovalPageView, ApprovalView, BatchAnswer, DecisionVerb, VoteView };

export type Arguments = ApprovalView["what"]["arguments"];

export function approvalsOf({ approvals }: ApprovalPageView): readonly ApprovalView[] {
  return approvals;
}

export function idOf({ approval_id }: ApprovalView): string {
  return approval_id;
}

interface PendingAsked {
  readonly risk?: string | undefined;
  /** Only what the person here may decide. */
  readonly mine?: true | undefined;
  readonly limit?: number;
  readonly signal?: AbortSignal;
}

export function listPending(
  after: string | undefined,
  { signal, ...where }: PendingAsked = {},
): Promise<ApprovalPageView> {
  return get<ApprovalPageView>("/v1/approvals", { query: { state: "pending", limit: 200, after, ...where }, signal });
}

/** What waits no more, new to old; `approved`: what may run still, old to new. */
export function listDecided(
  after: string | undefined,
  { state, signal }: { readonly state: "decided" | "approved"; readonly signal: AbortSignal },
): Promise<ApprovalPageView> {
  return get<ApprovalPageView>("/v1/approvals", { query: { state, limit: 100, after }, signal });
}

export function readApproval(id: string, signal?: AbortSignal): Promise<ApprovalView> {
  return get<ApprovalView>(`/v1/approvals/${encodeURIComponent(id)}`, { signal });
}

type Approve = SentTo<typeof contract.approve>;
export type Remember = NonNullable<Approve["remember"]>;

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
export async function decide(approval: ApprovalView, { verb, ...body }: Said): Promise<ApprovalView> {
  const { approval_id, shown_digest } = approval;
  if (verb === "approve" || verb === "modify") await assured([approval]);
  const expected = verb === "withdraw" || verb === "revoke" ? {} : { expected_digest: shown_digest };
  return post<ApprovalView>(`/v1/approvals/${encodeURIComponent(approval_id)}/${verb}`, { ...body, ...expected });
}

export async function decideMany(
  approvals: readonly ApprovalView[],
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
export function maySay({ viewer }: ApprovalView, verb: DecisionVerb): boolean {
  return viewer?.may.includes(verb) === true;
}

/** Needs the tool's name typed: never decided by one key or one click. */
export function needsTyping({ risk_level, routed }: ApprovalView): boolean {
  return risk_level === "critical" || routed.typed_confirmation;
}

/** Requests of one run that differ in their arguments alone, asked for the same reasons, may be decided together; never critical ones. */
export function isAlike(one: ApprovalView, other: ApprovalView): boolean {
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

/** Requests for approval: read, decided, compared. */
import { largestBatch } from "@postern/core";
import type { ApprovalPageView, ApprovalView, DecisionVerb } from "@postern/core/contract";
import { canonical } from "../kit/canonical.ts";
import { type Answer, ask, type Sent } from "./client.ts";
import { assertDigests } from "./digests.ts";

export type {
  AddresseesView,
  ApprovalPageView,
  ApprovalView,
  ArtifactView,
  DecisionVerb,
  PreviewView,
} from "@postern/core/contract";

export type Arguments = ApprovalView["what"]["arguments"];
export type Remember = NonNullable<Sent<"POST /v1/approvals/{id}/approve">["remember"]>;

export function approvalsOf({ approvals }: ApprovalPageView): readonly ApprovalView[] {
  return approvals;
}

export function idOf({ approval_id }: ApprovalView): string {
  return approval_id;
}

/** Of a used approval, what became of its call. */
export function stateOf({ status, call_state }: ApprovalView): string {
  return status === "used" ? (call_state ?? status) : status;
}

export function readApproval(id: string, signal?: AbortSignal): Promise<ApprovalView> {
  return ask("GET /v1/approvals/{id}", { id }, signal);
}

export interface Decision {
  readonly verb: DecisionVerb | "withdraw" | "revoke";
  readonly reason?: string | undefined;
  /** The tool's name, typed. */
  readonly confirmation?: string | undefined;
  readonly arguments?: Arguments | undefined;
  readonly remember?: Remember | undefined;
}

/**
 * Decides what was shown and nothing else: its digest goes along.
 * @throws Problem 409 when it has changed since; Error when what was shown does not have that digest
 */
export async function decide(approval: ApprovalView, { verb, ...body }: Decision): Promise<ApprovalView> {
  if (verb === "approve" || verb === "modify") await assertDigests([approval]);
  const expected = verb === "withdraw" || verb === "revoke" ? {} : { expected_digest: approval.shown_digest };
  const sent = { id: approval.approval_id, ...body, ...expected };
  return ask(`POST /v1/approvals/{id}/${verb}`, sent as Sent<"POST /v1/approvals/{id}/modify">); // each dialog fills in what its verb takes
}

export async function decideMany(
  approvals: readonly ApprovalView[],
  decision: "approved" | "denied" | "skipped",
  reason?: string | undefined,
): Promise<Answer<"POST /v1/approvals/batch">> {
  if (decision === "approved") await assertDigests(approvals);
  const digests = approvals.map(({ approval_id, shown_digest }) => [approval_id, shown_digest] as const);
  return ask("POST /v1/approvals/batch", {
    ids: approvals.map(idOf),
    decision,
    reason,
    expected_digests: Object.fromEntries(digests),
  });
}

/**
 * Denies all that waits of a run, a tool and a risk, and came before a moment: page by page, until none is left.
 * @param untilMs wall clock of the server
 */
export async function denyAll(
  where: Readonly<{ run_id: string; tool: string; risk: ApprovalView["risk_level"] }>,
  untilMs: number,
  reason?: string | undefined,
): Promise<{ readonly denied: number; readonly problem: string | undefined }> {
  let denied = 0;
  let problem: string | undefined;
  let after: string | undefined;
  do {
    const page = await ask("GET /v1/approvals", { state: "pending", limit: largestBatch, ...where, after });
    const meant = page.approvals.filter((one) => mayDecide(one, "deny") && Date.parse(one.created_at) <= untilMs);
    // The server decides those together that have the same action and reasons.
    for (const group of Map.groupBy(meant, ({ what, why }) => canonical([what.action, why])).values()) {
      const { answers } = await decideMany(group, "denied", reason);
      denied += answers.filter(({ decided }) => decided).length;
      problem = answers.find(({ decided }) => !decided)?.error?.message ?? problem;
    }
    after = page.next_after;
  } while (after !== undefined);
  return { denied, problem };
}

/** `everything__echo` is `echo` of the server `everything`. A tool of Postern's own has no server. */
export function namesOf(tool: string): { readonly server: string | undefined; readonly name: string } {
  const at = tool.indexOf("__");
  return at === -1 ? { server: undefined, name: tool } : { server: tool.slice(0, at), name: tool.slice(at + 2) };
}

/** Whether this person may decide it so. */
export function mayDecide({ viewer }: ApprovalView, verb: DecisionVerb): boolean {
  return viewer?.may.includes(verb) === true;
}

/** Whether the tool's name must be typed: then no single key or click approves it. */
export function needsTyping({ risk_level, routed }: ApprovalView): boolean {
  return risk_level === "critical" || routed.typed_confirmation;
}

/** The same as long as an approval would approve the same: votes and the time left do not count. */
export function markOf({ shown_digest, routed }: ApprovalView): string {
  return JSON.stringify([shown_digest, routed]);
}

/** Requests of one run for the same tool and reasons may be decided together, never critical ones. */
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

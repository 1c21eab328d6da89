/** The caller of a request: what it may see, and the name under which it acts. */

import { type Actor, type ApprovalRecord, type CallRecord, ownTenant, type Principal, roles } from "@postern/core";
import { actorOf as actorOfDecider } from "../../approvals/decision.ts";
import { eventIn } from "../../audit/entry.ts";
import { isElsewhere, isForeign } from "../../call/authority.ts";
import type { RunSummary } from "../../observe/runs/runs.ts";
import type { Decider, Runtime } from "../../runtime/api/api.ts";
import { filledPage } from "../../store/filled-page.ts";
import type { CallFilter } from "../../store/store.ts";
import type { Who } from "../credentials.ts";
import { problem } from "./answers.ts";

/**
 * The decider, with what routes of approvals ask of a person. The operator's token stands for every role, as it has every
 * permission; where people have accounts, it is no sign-in.
 */
export function deciderOf(by: Who): Decider {
  const { decider, account, credential } = by;
  if (credential === "operator-token") return { ...decider, roles };
  return {
    ...decider,
    signedIn: credential === "session",
    ...(account !== undefined && { roles: account.roles, groups: account.groups }),
  };
}

/** The person who acts, for the log. The holder of the data folder is confined to no tenant. */
export function actorOf({ decider, principal, credential }: Who): Actor {
  const { by, via } = actorOfDecider(decider);
  return { by, via, ...(credential !== "operator-token" && { tenant: principal.tenant }) };
}

/**
 * What a credential may see: a person that of its tenant, an agent its own, for its own user. For anything else every
 * route answers the same 404 as for what does not exist.
 */
export function sees({ kind, principal }: Pick<Who, "kind" | "principal">, owner: Principal): boolean {
  return kind === "person" ? !isElsewhere(owner, principal.tenant) : !isForeign(owner, principal);
}

/** A person works on the calls of others; an agent only on its own. */
export function askerOf({ kind, principal }: Who): { readonly principal?: Principal } {
  return kind === "agent" ? { principal } : {};
}

export async function visibleCall(runtime: Runtime, by: Who, id: string): Promise<CallRecord | undefined> {
  const record = await runtime.calls.get(id);
  return record !== undefined && sees(by, record.call.authority.principal) ? record : undefined;
}

export async function visibleApproval(runtime: Runtime, by: Who, id: string): Promise<ApprovalRecord | undefined> {
  const approval = await runtime.approvals.get(id);
  return approval !== undefined && sees(by, approval.principal) ? approval : undefined;
}

/** The request of a call that the caller may see. */
export async function approvalOf(runtime: Runtime, { approvalId }: CallRecord): Promise<ApprovalRecord | undefined> {
  return approvalId === undefined ? undefined : runtime.approvals.get(approvalId);
}

/** Returns undefined also where no folders of runs are kept. */
export async function visibleRun(
  { runs }: Pick<Runtime, "runs">,
  by: Who,
  id: string,
): Promise<RunSummary | undefined> {
  const summary = await runs?.get({ runId: id, tenant: by.principal.tenant });
  // A run without calls is the operator's alone.
  return summary !== undefined && sees(by, { tenant: summary.tenant, agent: "", ...summary.principal })
    ? summary
    : undefined;
}

/** The store filters by tenant, not by credential. */
export async function visibleCalls(
  runtime: Runtime,
  by: Who,
  where: CallFilter & { readonly limit: number },
): Promise<readonly CallRecord[]> {
  const { calls } = runtime;
  const own = { ...where, tenant: by.principal.tenant };
  return filledPage(
    (page) => calls.list(page),
    own,
    ({ call }) => sees(by, call.authority.principal),
  );
}

/** Switches and channels belong to no tenant: only the installation's own tenant learns who changed them. */
export function isOfOwnTenant({ principal }: Who): boolean {
  return principal.tenant === ownTenant;
}

/** A person sees the log of its tenant. The holder of the data folder sees all of it. */
export function tenantSeen({ credential, principal }: Who): { readonly tenant?: string } {
  return credential === "operator-token" ? {} : { tenant: principal.tenant };
}

/** @param body an entry as it is kept */
export function seesEntry(by: Who, body: string): boolean {
  const { tenant } = tenantSeen(by);
  return tenant === undefined || eventIn(body)?.tenant === tenant;
}

/**
 * Watches a credential while a body arrives, which may be slow: a caller does not act with one that changed or ended
 * meanwhile. Call the result once; it stops watching.
 */
export function endedMeanwhile(by: Who | undefined): () => Response | undefined {
  let ended = false;
  const leave = by?.whenEnded?.(() => {
    ended = true;
  });
  return () => {
    leave?.();
    if (!ended) return undefined;
    return problem("session_ended", "What you signed in with changed or ended meanwhile; sign in again.");
  };
}

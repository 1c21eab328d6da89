/** Filters of lists, as somebody's code hands them over. */
import { checkMembers, type Kind } from "../calls/checked-members.ts";
import { risks } from "../calls/risk.ts";
import { approvalStates } from "../calls/states.ts";
import type { ApprovalFilter } from "../stores/store.ts";
import type { DelegationFilter } from "./delegation.ts";
import type { GrantFilter, GrantState } from "./grant.ts";

const grantStates: readonly GrantState[] = ["live", "over", "revoked", "void"];

const ofApprovals: Readonly<Record<keyof ApprovalFilter, Kind>> = {
  state: [...approvalStates, "decided"],
  tenant: "a text",
  risk: risks,
  tool: "a text",
  runId: "a text",
  agent: "a text",
  isFor: "a function",
  after: "a text",
  limit: "a whole number from 0",
};
const ofGrants: Readonly<Record<keyof GrantFilter, Kind>> = { tenant: "a text", state: grantStates, tool: "a text" };
const ofDelegations: Readonly<Record<keyof DelegationFilter, Kind>> = { tenant: "a text", live: "true or false" };

/** @throws RuntimeFault `filter_invalid` */
export function checkApprovalFilter(where: ApprovalFilter): void {
  checkMembers(where, { ...filter, members: ofApprovals, of: "approvals" });
}

/** @throws RuntimeFault `filter_invalid` */
export function checkGrantFilter(where: GrantFilter): void {
  checkMembers(where, { ...filter, members: ofGrants, of: "grants" });
}

/** @throws RuntimeFault `filter_invalid` */
export function checkDelegationFilter(where: DelegationFilter): void {
  checkMembers(where, { ...filter, members: ofDelegations, of: "delegations" });
}

const filter = { code: "filter_invalid", what: "The filter" } as const;

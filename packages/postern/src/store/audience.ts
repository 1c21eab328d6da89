import type { Principal, Risk, Routed, Vote } from "@postern/core";
import { sha256 } from "@postern/core/system";

/** The part of an approval request that says who may decide it. Many requests share one. Every `ApprovalRecord` is one. */
export interface Audience {
  readonly tool: string;
  readonly server?: string;
  readonly risk: Risk;
  readonly principal: Principal;
  readonly routed?: Routed;
  readonly votes?: readonly Pick<Vote, "by" | "via">[];
  /** Whether it was escalated, not when. */
  readonly escalatedAt?: number;
}

/** Names the audience of a request: equal for all requests that the same people may decide. */
export function audienceKey({ tool, server, risk, principal, routed, votes, escalatedAt }: Audience): string {
  const { remindAt: _reminded, escalateAt: _escalated, ...requirement } = routed ?? {};
  const voters = votes?.map(({ by, via }) => [by, via]);
  const parts = [tool, server, risk, principal, routed && requirement, voters, escalatedAt !== undefined];
  return sha256(JSON.stringify(parts)).slice(0, 32);
}

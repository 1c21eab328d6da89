import type { Principal, Risk } from "../calls/call.ts";
import type { Routed, Vote } from "../calls/records.ts";

/**
 * What of a request for approval says who may decide it, without what only this one has: thousands of requests share one,
 * and whoever looks for theirs weighs each once. Every `ApprovalRecord` is one.
 */
export interface Audience {
  readonly tool: string;
  readonly server?: string;
  readonly risk: Risk;
  readonly principal: Principal;
  readonly routed?: Routed;
  readonly votes?: readonly Pick<Vote, "by" | "via" | "onBehalfOf">[];
  /** Whether it was, not when. */
  readonly escalatedAt?: number;
}

/** The same text for the same audience. */
export function audienceText({ tool, server, risk, principal, routed, votes, escalatedAt }: Audience): string {
  const { remindAt: _reminded, escalateAt: _escalated, ...demands } = routed ?? {};
  const audience = {
    ...{ tool, server, risk, principal },
    routed: routed && demands,
    votes: votes?.map(({ by, via, onBehalfOf }) => ({ by, via, onBehalfOf })),
    escalatedAt: escalatedAt === undefined ? undefined : 0,
  };
  return JSON.stringify(audience);
}

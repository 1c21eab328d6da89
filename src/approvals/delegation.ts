/** A person's decisions, given to another one until a time. It is not handed on, and never reaches what the giver asked for. */
export interface Delegation {
  readonly id: string;
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
  /** What the giver was when it was given: roles and groups that routes name. */
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /** Whether the giver signed in to give it; none: as their credential tells. */
  readonly signedIn?: boolean;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
  readonly reason?: string;
  readonly at: number;
  readonly via: string;
  readonly revoked?: { readonly by: string; readonly via?: string; readonly at: number };
}

/**
 * Which delegations are listed.
 *
 * @public
 */
export interface DelegationFilter {
  readonly tenant?: string;
  readonly live?: boolean;
}

export interface DelegationRequest {
  readonly to: string;
  /** Wall clock, milliseconds. */
  readonly until: number;
  readonly reason?: string;
}

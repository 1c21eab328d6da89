/** A person's decisions, given to another one until a time. It is not handed on, and never reaches what the giver asked for. */
export interface Delegation {
  readonly id: string;
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
  /** What the giver was when it was given: roles and groups that routes name. */
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
  readonly reason?: string;
  readonly at: number;
  readonly via: string;
  readonly revoked?: { readonly by: string; readonly via?: string; readonly at: number };
}

export interface DelegationRequest {
  readonly to: string;
  /** Wall clock, milliseconds. */
  readonly until: number;
  readonly reason?: string;
}

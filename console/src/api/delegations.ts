/** Who decides in whose place. Names are the wire's. */
import { get, post } from "./client.ts";

export interface Delegation {
  readonly delegation_id: string;
  readonly status: "live" | "over" | "revoked";
  readonly from: string;
  readonly to: string;
  readonly until: string;
  readonly reason?: string;
  readonly at: string;
  readonly revoked?: { readonly by: string; readonly at: string };
  /** Whether who asked may end it. */
  readonly ends?: true;
}

export function listDelegations(signal?: AbortSignal): Promise<{ readonly delegations: readonly Delegation[] }> {
  return get("/v1/delegations", { signal });
}

export interface Delegating {
  readonly to: string;
  /** ISO 8601. */
  readonly until: string;
  readonly reason: string | undefined;
}

export function delegate(said: Delegating): Promise<Delegation> {
  return post("/v1/delegations", said);
}

export function endDelegation(id: string): Promise<Delegation> {
  return post(`/v1/delegations/${encodeURIComponent(id)}/revoke`);
}

/** Who decides in whose place. */
import type { DelegationView, delegations } from "../../../src/server/contract/grants.ts";
import type { SentTo } from "../../../src/server/contract/route.ts";
import { get, post } from "./client.ts";

export type { DelegationView };

export function listDelegations(signal?: AbortSignal): Promise<{ readonly delegations: readonly DelegationView[] }> {
  return get("/v1/delegations", { signal });
}

export function delegate(sent: SentTo<typeof delegations.create>): Promise<DelegationView> {
  return post("/v1/delegations", sent);
}

export function endDelegation(id: string): Promise<DelegationView> {
  return post(`/v1/delegations/${encodeURIComponent(id)}/revoke`);
}

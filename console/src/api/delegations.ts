/** Who decides in whose place. */
import type { Delegation, delegations } from "../../../src/doors/contract/grants.ts";
import type { Sent } from "../../../src/doors/contract/route.ts";
import { get, post } from "./client.ts";

export type { Delegation };

export function listDelegations(signal?: AbortSignal): Promise<{ readonly delegations: readonly Delegation[] }> {
  return get("/v1/delegations", { signal });
}

export function delegate(sent: Sent<typeof delegations.create>): Promise<Delegation> {
  return post("/v1/delegations", sent);
}

export function endDelegation(id: string): Promise<Delegation> {
  return post(`/v1/delegations/${encodeURIComponent(id)}/revoke`);
}

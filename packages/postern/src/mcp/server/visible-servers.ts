/** Which upstream servers an endpoint has, which of them a caller may see, and what their names and addresses are there. */
import type { Runtime } from "../../runtime/api/api.ts";
import { internalsOf } from "../../tools/registry.ts";
import { featuresIn, type ServerFeatures } from "../client/server-features.ts";
import { requestsToolName } from "../client/server-requests.ts";
import { shownOffers } from "./offer.ts";
import type { RequestSource } from "./request-source.ts";

export interface ServerHere {
  readonly server: string;
  readonly features: ServerFeatures;
}

/** The connected servers at an endpoint. */
export function serversAt(at: string | undefined, { tools }: Runtime): readonly ServerHere[] {
  return featuresIn(tools)
    .all()
    .flatMap(([server, features]) => (at === undefined || at === server ? [{ server, features }] : []));
}

/** Those that have something beside tools. */
export function relayedAt(at: string | undefined, runtime: Runtime): readonly ServerHere[] {
  return serversAt(at, runtime).filter(({ server }) => hasRequests(server, runtime));
}

function hasRequests(server: string, { tools }: Runtime): boolean {
  return internalsOf(tools).toolNamed(requestsToolName(server)) !== undefined;
}

/** Those that this caller may see. */
export async function serversFor<Here extends ServerHere>(
  source: RequestSource,
  servers: readonly Here[],
  runtime: Runtime,
): Promise<readonly Here[]> {
  const seen = await Promise.all(servers.map(({ server }) => maySee(server, source, runtime)));
  return servers.filter((_, at) => seen[at]);
}

/** Whether the policy lets this caller ask a server for a resource, or shows one of its tools. Never rejects. */
export async function maySee(server: string, source: RequestSource, runtime: Runtime): Promise<boolean> {
  const { principal, scopes } = source.caller;
  try {
    if (!hasRequests(server, runtime))
      return shownOffers(runtime, { ...source, server }).some(({ facts }) => facts.server === server);
    const request = { tool: requestsToolName(server), action: "read_resource", arguments: { uri: "" } };
    const explained = await runtime.explain(request, { principal, scopes });
    return explained.reached !== "refused" && !["DENY", "BLOCK"].includes(explained.decision.verdict);
  } catch {
    return false; // the runtime is closing
  }
}

/** At `/mcp` a prompt is `server__prompt` and an address `server+address`; at a server's own endpoint they are its own. */
export function nameHere(
  own: string,
  named: "uri" | "uriTemplate" | "name",
  server: string,
  source: RequestSource,
): string {
  if (source.server !== undefined) return own;
  return named === "name" ? `${server}__${own}` : `${server}+${own}`;
}

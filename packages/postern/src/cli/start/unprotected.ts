import type { Settings } from "../../config/settings.ts";
import { isLoopbackHost } from "../../server/http/own-hosts.ts";

/** What is wrong with listening beyond this machine without a proxy. Undefined where other machines come through one. */
export function unprotectedProblem({ host, publicUrl }: Settings["listen"]): string | undefined {
  if (isLoopbackHost(host) || publicUrl !== undefined) return undefined;
  return `Other machines reach Postern at \`${host}\` without TLS, so who reads the network reads tokens and passwords. Put a proxy with TLS in front, write its address as \`listen.public_url: https://HOST\` and its own address into \`listen.trusted_proxies\`; or listen on 127.0.0.1.`;
}

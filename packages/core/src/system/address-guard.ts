import { promises as dns, type LookupAddress } from "node:dns";
import { BlockList, isIP } from "node:net";

/** Every address of a name. A test gives its own. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** Where a request goes. The checked address is the one that is connected to. */
export type Target =
  | { readonly allowed: true; readonly url: URL; readonly address: LookupAddress }
  | { readonly allowed: false; readonly problem: string };

/** IPv4 that is not the public internet (IANA special-purpose registry), or reaches the cloud that a machine runs in. */
const notPublic = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's wire server: credentials and configuration of the machine
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const)
  notPublic.addSubnet(net, bits, "ipv4");
/** Of IPv6 only global unicast is public, without ranges that hide another address or are for documentation. */
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");
const notPublic6 = new BlockList();
for (const [net, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  notPublic6.addSubnet(net, bits, "ipv6");

export function isPublic({ address, family }: LookupAddress): boolean {
  if (family === 4) return !notPublic.check(address, "ipv4");
  return global6.check(address, "ipv6") && !notPublic6.check(address, "ipv6");
}

export const systemResolve: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true });

/**
 * Checks an address before anything is sent there: it must be https and no machine of this network. `allowPrivate`: the
 * operator permits such a machine, also over http.
 */
export async function targetOf(text: string, allowPrivate: boolean, resolve: Resolve = systemResolve): Promise<Target> {
  const url = URL.parse(text);
  if (url === null) return refused("It is no address.");
  if (url.protocol !== "https:" && !(allowPrivate && url.protocol === "http:"))
    return refused(
      `\`${url.protocol}\` is not sent to; use \`https:\`, or \`allow_private\` for a machine of your own.`,
    );
  if (url.username !== "" || url.password !== "") return refused("It holds a user or a password.");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  let addresses: readonly LookupAddress[];
  try {
    const family = isIP(host);
    addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  } catch {
    return refused(`\`${host}\` has no address.`); // there is no address to send to
  }
  const [first] = addresses;
  if (first === undefined) return refused(`\`${host}\` has no address.`);
  // A private address among public ones is a sign of DNS rebinding.
  if (!allowPrivate && !addresses.every(isPublic))
    return refused(`\`${host}\` is a machine of this network; \`allow_private: true\` permits that.`);
  return { allowed: true, url, address: first };
}

function refused(problem: string): Target {
  return { allowed: false, problem };
}

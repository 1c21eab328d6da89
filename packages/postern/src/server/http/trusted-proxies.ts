import { BlockList, isIP } from "node:net";

/** What a proxy says of a request, as far as it is believed. */
export interface ForwardedArrival {
  /** Of the client: the last address that no trusted proxy has. */
  readonly address: string;
  /** Whether the client spoke TLS with the proxy. */
  readonly isSecure: boolean;
}

/** Finds out who sent a request that came through proxies. */
export type ArrivalReader = (peer: string, headers: { get(name: string): string | null }) => ForwardedArrival;

/**
 * Reads `X-Forwarded-For` and `X-Forwarded-Proto` of requests from these proxies. From every other peer both are ignored,
 * because any client can write them. `X-Forwarded-Host` is never read: a proxy keeps `Host`, which the page guard checks.
 *
 * @param proxies addresses and networks: `10.0.0.2`, `10.0.0.0/24`, `fd00::/8`
 * @throws Error for anything else
 */
export function arrivalReader(proxies: readonly string[]): ArrivalReader {
  if (proxies.length === 0) return (address) => ({ address, isSecure: false });
  const trusted = listOf(proxies);
  return (peer, headers) => {
    if (!isTrusted(peer, trusted)) return { address: peer, isSecure: false };
    // Each proxy adds its own peer at the end. A client may have written what stands before.
    const named = (headers.get("x-forwarded-for") ?? "").split(",").map(addressIn);
    let address = peer;
    for (const next of named.reverse()) {
      if (next === undefined || !isTrusted(address, trusted)) break;
      address = next;
    }
    const protocol = headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
    return { address, isSecure: protocol === "https" };
  };
}

/** An address or network. Every address of the world is none: then each client could choose its own. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, ...more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  if (bits === undefined) return true;
  return /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function listOf(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = "", bits] = proxy.split("/");
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return isIP(address) !== 0 && trusted.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** Some proxies write a port too. Returns undefined for what is no address: then the one before it counts. */
function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)$/.exec(text.trim()) ?? [];
  const address = bracketed ?? plain ?? text.trim();
  return isIP(address) === 0 ? undefined : address;
}

import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** Where a server listens that is reached at each address of its machine. */
const everyAddress: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** @param host a name or an address, without brackets */
export function isLoopbackHost(host: string): boolean {
  if (isIP(host) === 0) return host === "localhost";
  return loopback.check(host, isIP(host) === 6 ? "ipv6" : "ipv4");
}

/** Whether an address is one of this machine, where no other machine can answer. */
export function isOfThisMachine(host: string): boolean {
  return isLoopbackHost(host) || machineAddresses().includes(host);
}

/** The names that clients on this machine use: the server's `hosts` when it listens on loopback. */
export function loopbackHosts(port: number): readonly string[] {
  return [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
}

/** The host of an address by which this machine reaches a server that listens there. */
export function reachedAt(host: string, address: string): string {
  if (host === "localhost") return host;
  if (!everyAddress.has(address)) return inUrl(address);
  return address === "::" ? "[::1]" : "127.0.0.1";
}

interface ListenNames {
  readonly host: string;
  /** Of the running server. */
  readonly port: number;
  readonly publicUrl: string | undefined;
  /** A name without a port is allowed with the server's own port and without one. */
  readonly hosts: readonly string[];
}

/**
 * The values of `Host` by which a server is called: loopback, what it listens on, and the names that its operator allows. The
 * first one reaches it from this machine.
 */
export function ownHosts({ host, port, publicUrl, hosts }: ListenNames): readonly string[] {
  const listened = everyAddress.has(host) ? machineAddresses() : [host];
  const own = listened.map((name) => `${inUrl(name)}:${port}`);
  const names = hosts.flatMap((name) => (/:\d+$/.test(name) ? [name] : [name, `${name}:${port}`]));
  // The public address is of TLS, so it goes before the same name without.
  const secure = publicUrl === undefined ? [] : [publicUrl];
  const first = everyAddress.has(host) ? [] : own;
  return [...new Set([...first, ...loopbackHosts(port), ...own, ...secure, ...names])];
}

function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));
}

function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

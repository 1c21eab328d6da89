import { expect, it } from "vitest";
import { arrivalReader, isNetwork } from "./trusted-proxies.ts";

const networks = ["10.0.0.0/24", "192.0.2.7", "fd00::/8"];

function arrival(peer: string, forwarded: string, protocol?: string) {
  const headers = new Headers({ "x-forwarded-for": forwarded });
  if (protocol !== undefined) headers.set("x-forwarded-proto", protocol);
  return arrivalReader(networks)(peer, headers);
}

it.each([
  ["one proxy", "10.0.0.2", "203.0.113.9", "203.0.113.9"],
  ["a chain of trusted proxies", "10.0.0.2", "203.0.113.9, fd00::1, 192.0.2.7", "203.0.113.9"],
  ["a client that wrote an address before", "10.0.0.2", "127.0.0.1, 203.0.113.9", "203.0.113.9"],
  ["an address with a port", "10.0.0.2", "203.0.113.9:51234", "203.0.113.9"],
  ["an address in brackets", "10.0.0.2", "[2001:db8::1]:51234", "2001:db8::1"],
  ["a mapped address of the proxy", "::ffff:10.0.0.2", "203.0.113.9", "203.0.113.9"],
  ["a text that is no address", "10.0.0.2", "203.0.113.9, unknown", "10.0.0.2"],
  ["an empty header", "10.0.0.2", "", "10.0.0.2"],
  ["a peer that is no trusted proxy", "203.0.113.1", "127.0.0.1", "203.0.113.1"],
])("finds the client behind %s", (_, peer, forwarded, address) => {
  expect(arrival(peer, forwarded).address).toBe(address);
});

it("believes https of a trusted proxy only, and only what it wrote last", () => {
  expect(arrival("10.0.0.2", "203.0.113.9", "https").isSecure).toBe(true);
  expect(arrival("10.0.0.2", "203.0.113.9", "https, http").isSecure).toBe(false);
  expect(arrival("10.0.0.2", "203.0.113.9").isSecure).toBe(false);
  expect(arrival("203.0.113.1", "203.0.113.9", "https").isSecure).toBe(false);
});

it("takes addresses and networks, and nothing that means the whole world", () => {
  expect([...networks, "::1", "10.0.0.0/32"].every(isNetwork)).toBe(true);
  for (const wrong of [
    "proxy",
    "10.0.0.0/33",
    "10.0.0.0/0",
    "::/0",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "10.0.0",
    "",
    "fd00::/129",
  ])
    expect(isNetwork(wrong), wrong).toBe(false);
});

import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { isLoopbackHost, isOfThisMachine, ownHosts, reachedAt } from "./own-hosts.ts";

const plain = { host: "127.0.0.1", port: 7420, publicUrl: undefined, hosts: [] };
const addresses = Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));

it("answers on loopback, and to the names that its operator allows, with and without its port", () => {
  expect(ownHosts(plain)).toEqual(["127.0.0.1:7420", "localhost:7420", "[::1]:7420"]);
  const hosts = ["postern.internal", "localhost:8080"];
  expect(ownHosts({ ...plain, hosts }).slice(3)).toEqual([
    "postern.internal",
    "postern.internal:7420",
    "localhost:8080",
  ]);
});

it("answers to each address of this machine when it listens on every one", () => {
  const own = ownHosts({ ...plain, host: "0.0.0.0" });
  for (const address of addresses)
    expect(own).toContain(address.includes(":") ? `[${address}]:7420` : `${address}:7420`);
  expect(ownHosts({ ...plain, host: "10.1.2.3" })).toContain("10.1.2.3:7420");
});

it("puts the public address before the same name without TLS", () => {
  const own = ownHosts({ ...plain, publicUrl: "https://postern.example.com", hosts: ["postern.example.com"] });
  expect(own.indexOf("https://postern.example.com")).toBeLessThan(own.indexOf("postern.example.com"));
});

it("knows what is of this machine", () => {
  expect(["127.0.0.1", "127.8.8.8", "::1", "localhost"].every(isLoopbackHost)).toBe(true);
  expect(["0.0.0.0", "10.0.0.1", "example.com", "::"].some(isLoopbackHost)).toBe(false);
  expect(addresses.every(isOfThisMachine)).toBe(true);
  expect(["203.0.113.9", "example.com"].some(isOfThisMachine)).toBe(false);
});

it("is reached on loopback when it listens on every address", () => {
  expect([reachedAt("0.0.0.0", "0.0.0.0"), reachedAt("::", "::")]).toEqual(["127.0.0.1", "[::1]"]);
  expect([reachedAt("localhost", "127.0.0.1"), reachedAt("fd00::5", "fd00::5")]).toEqual(["localhost", "[fd00::5]"]);
});

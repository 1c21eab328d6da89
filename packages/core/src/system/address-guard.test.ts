import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { corpus } from "../../../../test/fakes/corpus.ts";
import { isPublic, type Resolve, targetOf } from "./address-guard.ts";

const names: ReadonlyMap<string, readonly string[]> = new Map([
  ["example.com", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]],
  ["localhost", ["127.0.0.1"]],
  ["metadata.google.internal", ["169.254.169.254"]],
  ["metadata", ["169.254.169.254"]],
  ["rancher-metadata", ["169.254.169.250"]],
  ["169.254.169.254.nip.io", ["169.254.169.254"]],
  ["rebinding.example", ["93.184.215.14", "10.0.0.1"]],
]);
const resolve: Resolve = async (host) => {
  const found = names.get(host);
  if (found === undefined) throw new Error("ENOTFOUND");
  return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
};

const published = corpus<{ readonly url: string; readonly expect: string }>("ssrf/urls.dev.json");

describe("where a notice may go", () => {
  it("is refused for every address of the published lists", async () => {
    for (const { url } of published.filter((row) => row.expect === "block")) {
      for (const text of [url, url.replace(/^http:/, "https:")]) {
        expect(await targetOf(text, false, resolve), text).toMatchObject({ allowed: false });
      }
    }
  });

  it("is a public machine over https, at the checked address", async () => {
    const target = await targetOf("https://example.com/hook", false, resolve);
    expect(target).toMatchObject({ allowed: true, address: { address: "93.184.215.14", family: 4 } });
  });

  it.each([
    ["http://example.com/", "http:"],
    ["https://ann:secret@example.com/", "password"],
    ["https://rebinding.example/", "allow_private"],
    ["https://nowhere.example/", "no address"],
    ["no address", "no address"],
  ])("not %s, and says why", async (url, why) => {
    const target = await targetOf(url, false, resolve);
    expect(target).toMatchObject({ allowed: false, problem: expect.stringContaining(why) });
    expect(JSON.stringify(target)).not.toContain("secret");
  });

  it("is a machine of this network if the operator permits it, over http or https", async () => {
    expect(await targetOf("http://localhost:9000/", true, resolve)).toMatchObject({ allowed: true });
    expect(await targetOf("file:///etc/passwd", true, resolve)).toMatchObject({ allowed: false });
  });

  it("is in no range outside the internet", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const inside = fc.oneof(
      fc.tuple(fc.constantFrom(10, 127, 0, 224, 240, 255), octet, octet, octet),
      fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
      fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
      fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
    );
    void fc.assert(
      fc.property(inside, (octets) => {
        const four = octets.join(".");
        expect(isPublic({ address: four, family: 4 })).toBe(false);
        for (const six of [`::ffff:${four}`, `64:ff9b::${four}`, `::${four}`])
          expect(isPublic({ address: six, family: 6 })).toBe(false);
      }),
    );
  });

  it.each(["168.63.129.16", "169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192"])(
    "does not take %s of a cloud's own services for public",
    async (address) => {
      expect(isPublic({ address, family: 4 })).toBe(false);
      expect(isPublic({ address: `::ffff:${address}`, family: 6 })).toBe(false);
      expect(await targetOf(`https://${address}/`, false, resolve)).toMatchObject({ allowed: false });
    },
  );

  it.each([
    "fd00:ec2::254",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2001::1",
    "64:ff9b::1",
  ])("never %s", (address) => {
    expect(isPublic({ address, family: 6 })).toBe(false);
  });

  it.each(["2606:4700::1111", "2a00:1450:4001::200e"])("but %s", (address) => {
    expect(isPublic({ address, family: 6 })).toBe(true);
  });
});

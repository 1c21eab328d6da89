import { describe, expect, it } from "vitest";
import { host, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import { routes } from "./http-server.ts";

describe("a web page that would act for a person", () => {
  const pages: readonly (readonly [string, Record<string, string>, number])[] = [
    ["a foreign Host, as after DNS rebinding", { host: "evil.example:7420" }, 421],
    ["a Host that only begins like ours", { host: "127.0.0.1:7420.evil.example" }, 421],
    ["our Host with another port", { host: "127.0.0.1:7421" }, 421],
    ["our Host without its port", { host: "127.0.0.1" }, 421],
    ["our Host in another spelling", { host: "127.0.0.01:7420" }, 421],
    ["a foreign Origin", { origin: "https://evil.example" }, 403],
    ["the null Origin of a sandboxed frame", { origin: "null" }, 403],
    ["the Origin of another port here", { origin: "http://127.0.0.1:3000" }, 403],
    ["our Origin over another scheme", { origin: "https://127.0.0.1:7420" }, 403],
    ["a cross-site request without an Origin", { "sec-fetch-site": "cross-site" }, 403],
    ["a same-site request from another port", { "sec-fetch-site": "same-site" }, 403],
    ["a plain form", { "content-type": "text/plain" }, 415],
    ["a form with fields", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["a multipart form", { "content-type": "multipart/form-data; boundary=x" }, 415],
  ];

  it.each(pages)("is refused at every route that changes something: %s", async (_, headers, status) => {
    const stub = stubRuntime();
    await using http = await httpFixture(stub.runtime);
    for (const route of routes.filter(({ method }) => method !== "get")) {
      const path = route.path.replace("{id}", "apr_1").replace("{name}", "echo");
      const response = await http.ask(path, {
        as: "operator",
        method: route.method.toUpperCase(),
        body: {},
        headers,
      });
      // Signed by another server, over whatever bytes it sends: the signature is looked at first.
      const isSigned = /\/(?:decisions|slack)$/.test(path) && status === 415;
      expect(response.status, path).toBe(isSigned ? 401 : status);
      expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    }
    expect(stub.requests).toEqual([]);
  });

  it("reads how to reach the server by another name, and where a token comes from", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    const messageOf = async (...asked: Parameters<typeof http.ask>): Promise<string> =>
      ((await (await http.ask(...asked)).json()) as { error: { message: string } }).error.message;
    const elsewhere = await messageOf("/v1/tools", { headers: { host: "10.0.0.5:7420" } });
    expect(elsewhere).toContain("`10.0.0.5:7420`");
    expect(elsewhere).toContain("`listen.public_url`");
    expect(await messageOf("/v1/tools")).toMatch(/^No token came .*`postern tokens create NAME`/);
    const wrong = { headers: { authorization: "Bearer wrong" } };
    expect(await messageOf("/v1/tools", wrong)).toMatch(/not known here: .*revoked.*`postern tokens create NAME`/);
  });

  it("is refused before the token is looked at, and has no preflight to ask", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    expect((await http.ask("/v1/tools", { headers: { host: "evil.example" } })).status).toBe(421);
    const preflight = { origin: "https://evil.example", "access-control-request-method": "POST" };
    expect((await http.ask("/v1/calls", { method: "OPTIONS", headers: preflight })).status).toBe(403);
    expect((await http.ask("/v1/calls", { as: "agent", method: "OPTIONS" })).status).toBe(405);
  });

  it("is no page of ours: same origin, or no origin at all, passes", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    expect(
      (
        await http.ask("/v1/tools", {
          as: "agent",
          headers: { origin: `http://${host}`, "sec-fetch-site": "same-origin" },
        })
      ).status,
    ).toBe(200);
    expect((await http.ask("/v1/tools", { as: "agent", headers: { "sec-fetch-site": "none" } })).status).toBe(200);
  });

  it("finds no cookie that would do in a token's place", async () => {
    await using http = await httpFixture(stubRuntime().runtime);
    const cookie = `token=${http.tokens.operator}; authorization=Bearer ${http.tokens.operator}`;
    expect((await http.ask("/v1/controls/pause", { body: {}, headers: { cookie } })).status).toBe(401);
    expect(
      (await http.ask(`/v1/controls?token=${http.tokens.operator}&access_token=${http.tokens.operator}`)).status,
    ).toBe(401);
  });

  it("gets headers on every answer that forbid caching, sniffing, running and framing", async () => {
    await using http = await httpFixture(stubRuntime().runtime, {
      mcp: (exchange) => exchange.answer(200, { "content-type": "application/json" }, "{}"),
    });
    for (const path of ["/v1/tools", "/v1/nothing", "/openapi.json", "/v1/audit/export", "/mcp", "/healthz"]) {
      for (const as of ["operator", undefined] as const) {
        const { headers } = await http.ask(path, { as });
        expect(headers.get("x-content-type-options"), path).toBe("nosniff");
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'");
        expect(headers.get("access-control-allow-origin")).toBeNull();
      }
    }
  });
});

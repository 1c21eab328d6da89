import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { pathOf } from "../../../../../test/fakes/role-matrix.ts";
import { type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { routes } from "./http-server.ts";

let inside: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  inside = await runtimeFixture({ metrics: true });
  http = await httpFixture(inside.runtime, { accounts: inside.runtime.accounts, clock: inside.clock });
});
afterEach(() => inside[Symbol.asyncDispose]());

/** A token with only this permission. */
async function tokenWith(permission: string): Promise<Readonly<Record<string, string>>> {
  const body = { name: "prometheus", kind: "person", permissions: [permission] };
  const made = (await (await http.ask("/v1/tokens", { as: "operator", body })).json()) as { token: string };
  return { authorization: `Bearer ${made.token}` };
}

const codeOf = async (answered: Response): Promise<unknown> =>
  ((await answered.json()) as { error: { code: string } }).error.code;

describe("GET /metrics", () => {
  it("answers a token with only `metrics:read` in Prometheus' format", async () => {
    await http.ask("/v1/calls", { as: "agent", body: { tool: "echo", arguments: { to: "ann" } } });
    const answered = await http.ask("/metrics", { headers: await tokenWith("metrics:read") });
    expect(answered.status).toBe(200);
    expect(answered.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await answered.text();
    expect(text).toContain("# TYPE postern_calls_total counter\n");
    expect(text).toContain('postern_calls_total{tool="echo",outcome="ok",via="token"} 1\n');
  });

  it("refuses a request without a token, and one with a wrong token", async () => {
    for (const headers of [{}, { authorization: "Bearer pat_wrong" }]) {
      const answered = await http.ask("/metrics", { headers });
      expect(answered.status).toBe(401);
      expect(answered.headers.get("www-authenticate")).toBe("Bearer");
    }
  });

  it("refuses a token without the permission, also an agent's", async () => {
    for (const asked of [{ headers: await tokenWith("tools:read") }, { as: "agent" as const }]) {
      const answered = await http.ask("/metrics", asked);
      expect(answered.status).toBe(403);
      expect(await codeOf(answered)).toBe("permission_missing");
    }
  });

  it("no other route takes the token, nor does MCP", async () => {
    const headers = await tokenWith("metrics:read");
    const others = routes.filter(({ needs }) => needs !== "nothing" && needs !== "metrics:read");
    expect(others.length).toBeGreaterThan(50);
    for (const { method, path } of others) {
      const hasBody = method !== "get" && method !== "delete";
      const asked = { method: method.toUpperCase(), headers, ...(hasBody && { body: {} }) };
      expect([path, (await http.ask(pathOf(path), asked)).status]).toEqual([path, 403]);
    }
    expect((await http.ask("/mcp", { method: "POST", headers, body: {} })).status).toBe(403);
  });

  it("says what to do where nothing is counted", async () => {
    await using uncounted = await runtimeFixture();
    const other = await httpFixture(uncounted.runtime);
    const answered = await other.ask("/metrics", { as: "operator" });
    expect(answered.status).toBe(501);
    expect(await answered.json()).toMatchObject({
      error: { code: "metrics_off", message: expect.stringMatching(/`metrics: true`/) },
    });
  });
});

import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/fakes/clock.ts";
import { bodyOf, httpHouse, stubHouse } from "../../../test/fakes/http-house.ts";
import { aDigest, aRecord, stubRuntime } from "../../../test/fakes/stub-runtime.ts";
import { routes } from "./http-door.ts";

const house = stubHouse();
const codeOf = async (response: Response): Promise<unknown> =>
  ((await bodyOf(response))["error"] as { code?: unknown } | undefined)?.code;

/** A request that would succeed at each route, for the matrix. */
const good: Readonly<Record<string, object>> = {
  "/v1/calls": { tool: "echo" },
  "/v1/explain": { tool: "echo" },
  "/v1/calls/{id}/settle": { outcome: "succeeded", reason: "seen" },
  "/v1/approvals/{id}/modify": { arguments: {} },
  "/v1/tools/{name}/approve": { definition: aDigest },
  "/v1/policy/explain": { tool: "echo" },
  "/v1/policy/simulate": { configuration: { name: "postern.yaml", text: "{}" } },
  "/v1/policy/test": { configuration: { name: "postern.yaml", text: "{}" } },
  "/v1/skills/{name}/activate": { run_id: "run_1" },
  "/v1/skills/{name}/deactivate": { run_id: "run_1" },
  "/v1/controls/autonomy": { level: "A1" },
  "/v1/controls/tools/{name}": { enabled: true },
  "/v1/controls/servers/{name}": { enabled: true },
};
const pathOf = (path: string): string =>
  path
    .replace("{id}", path.includes("approvals") ? "apr_1" : aRecord().call.id)
    .replace("{name}", "echo")
    .replace("{digest}", aDigest);

/** Written out, so that a route added without a thought about who may use it fails here. */
const expected: Readonly<Record<string, readonly [agent: number, operator: number]>> = {
  "post /v1/calls": [200, 200],
  "post /v1/explain": [200, 200],
  "get /v1/calls": [200, 200],
  "get /v1/calls/{id}": [200, 200],
  "post /v1/calls/{id}/settle": [403, 200],
  "post /v1/calls/{id}/reconcile": [403, 200],
  "get /v1/tools": [200, 200],
  "get /v1/tools/{name}": [404, 404],
  "get /v1/tools/{name}/changes": [403, 200],
  "post /v1/tools/{name}/approve": [403, 200],
  "get /v1/artifacts/{digest}": [200, 200],
  "get /v1/health": [200, 200],
  "get /v1/approvals": [200, 200],
  "get /v1/approvals/{id}": [200, 200],
  "post /v1/approvals/{id}/approve": [403, 200],
  "post /v1/approvals/{id}/deny": [403, 200],
  "post /v1/approvals/{id}/skip": [403, 200],
  "post /v1/approvals/{id}/modify": [403, 200],
  "post /v1/approvals/{id}/withdraw": [200, 200],
  "post /v1/approvals/{id}/resume": [200, 200],
  "get /v1/audit": [403, 200],
  "get /v1/audit/verify": [403, 200],
  "get /v1/audit/export": [403, 200],
  "post /v1/audit/checkpoint": [403, 200],
  "get /v1/controls": [403, 200],
  "get /v1/controls/history": [403, 200],
  "post /v1/controls/pause": [403, 200],
  "post /v1/controls/resume": [403, 200],
  "post /v1/controls/autonomy": [403, 200],
  "post /v1/controls/tools/{name}": [403, 200],
  "post /v1/controls/servers/{name}": [403, 200],
  "get /v1/runs": [200, 200],
  "get /v1/runs/{id}": [200, 200],
  "get /v1/runs/{id}/events": [200, 200],
  "get /v1/runs/{id}/verify": [403, 200],
  "get /v1/runs/{id}/export": [403, 200],
  "get /v1/policy": [403, 200],
  "post /v1/policy/explain": [403, 200],
  "post /v1/policy/simulate": [403, 501],
  "post /v1/policy/test": [403, 501],
  "get /v1/skills": [403, 200],
  "post /v1/skills/{name}/activate": [403, 404],
  "post /v1/skills/{name}/deactivate": [403, 404],
  "get /v1/memory/candidates": [403, 501],
  "post /v1/memory/candidates/{id}/accept": [403, 501],
  "post /v1/memory/candidates/{id}/reject": [403, 501],
};

describe("who may do what", () => {
  it("names every route in the matrix", () => {
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(expected).sort());
  });

  it.each(Object.entries(expected))(
    "%s answers nobody, and the agent and the operator %j",
    async (route, [agent, operator]) => {
      const [method = "", path = ""] = route.split(" ");
      const body = method === "post" ? { body: good[path] ?? {} } : {};
      const ask = async (as?: "agent" | "operator"): Promise<number> =>
        (await house.ask(pathOf(path), { as, method: method.toUpperCase(), ...body })).status;
      expect(await ask()).toBe(401);
      expect(house.said).toEqual([]);
      expect(await ask("agent")).toBe(agent);
      expect(await ask("operator")).toBe(operator);
      const wrong = { authorization: `Bearer ${"x".repeat(43)}` };
      expect((await house.ask(pathOf(path), { method: method.toUpperCase(), ...body, headers: wrong })).status).toBe(
        401,
      );
    },
  );

  it.each(Object.keys(expected).filter((route) => expected[route]?.[0] === 403))(
    "tells an agent the same at %s whether the id exists or not, and asks the runtime nothing",
    async (route) => {
      const [method = "", path = ""] = route.split(" ");
      const refused = await house.ask(path.replace(/\{\w+\}/, "apr_unknown"), {
        as: "agent",
        method: method.toUpperCase(),
        ...(method === "post" && { raw: "not JSON" }),
      });
      expect(refused.status).toBe(403);
      expect(await codeOf(refused)).toBe("operator_only");
      expect(house.said).toEqual([]);
    },
  );

  it.each(["/v1/nothing", "/v1", "/", "/openapi.json", "/mcp", "/mcp/files", "/healthz/", "/v1/calls/"])(
    "asks for a token before saying whether %s exists",
    async (path) => {
      expect((await house.ask(path)).status).toBe(401);
    },
  );

  it("shows an agent nothing of another agent or another tenant, and the operator nothing of another tenant", async () => {
    for (const [owner, tenant, agent, operator] of [
      ["other", "default", 404, 200],
      ["local-agent", "acme", 404, 404],
    ] as const) {
      await house.open({ owner, tenant });
      for (const path of [
        `/v1/calls/${aRecord().call.id}`,
        "/v1/approvals/apr_1",
        "/v1/approvals/apr_1/withdraw",
        "/v1/approvals/apr_1/resume",
      ]) {
        const body = /withdraw|resume/.test(path) ? { body: {} } : {};
        expect((await house.ask(path, { as: "agent", ...body })).status, path).toBe(agent);
        expect((await house.ask(path, { as: "operator", ...body })).status, path).toBe(operator);
      }
      expect(await bodyOf(await house.ask("/v1/calls", { as: "agent" }))).toEqual({ calls: [] });
      expect(await bodyOf(await house.ask("/v1/approvals", { as: "agent" }))).toEqual({
        approvals: [],
      });
    }
  });

  it("slows an address down after ten wrong tokens in a second, and still lets the right token in", async () => {
    const clock = new FakeClock();
    await using slow = await httpHouse(stubRuntime().runtime, { clock });
    const wrong = { headers: { authorization: "Bearer wrong" } };
    for (let attempt = 0; attempt < 10; attempt += 1) expect((await slow.ask("/v1/tools", wrong)).status).toBe(401);
    expect((await slow.ask("/v1/tools", wrong)).status).toBe(429);
    expect((await slow.ask("/v1/tools", { as: "agent" })).status).toBe(200);
    await clock.advance(1_000);
    expect((await slow.ask("/v1/tools", wrong)).status).toBe(401);
  });
});

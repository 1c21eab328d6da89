import { describe, expect, it } from "vitest";
import { bodyOf, httpFixture, stubFixture } from "../../../../../test/fakes/http-fixture.ts";
import { aDigest, stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";
import { routes } from "./http-server.ts";

const http = stubFixture();

describe("audit, artifacts, health", () => {
  it.each(["PUT", "PATCH", "DELETE", "POST"])("changes nothing of the audit log by %s (case 199)", async (method) => {
    for (const path of ["/v1/audit", "/v1/audit/verify", "/v1/audit/export"]) {
      const response = await http.ask(path, {
        as: "operator",
        method,
        ...(method !== "DELETE" && { body: {} }),
      });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET");
    }
    expect((await http.ask("/v1/audit/evt_1", { as: "operator", method })).status).toBe(404);
    expect(http.requests).toEqual([]);
  });

  it("turns times of a query into milliseconds, and refuses what it does not know", async () => {
    await http.ask("/v1/audit?since=2026-11-20T00:00:00Z&type=gate.,grant.made&by=ann&limit=5", { as: "operator" });
    expect(http.requests[0]).toEqual([
      "audit.query",
      { since: Date.UTC(2026, 10, 20), type: ["gate.", "grant.made"], by: "ann", limit: 5 },
    ]);
    for (const query of ["sinse=1", "limit=0", "limit=1e3", "since=yesterday", "limit=1&limit=2"]) {
      expect((await http.ask(`/v1/audit?${query}`, { as: "operator" })).status, query).toBe(422);
    }
  });

  it("exports the log as lines", async () => {
    const response = await http.ask("/v1/audit/export", { as: "operator" });
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(await response.text()).toBe("one\ntwo\n");
  });

  it("sends an artifact to be saved, never to be shown", async () => {
    const response = await http.ask(`/v1/artifacts/${aDigest}`, { as: "agent" });
    expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(http.requests[0]).toEqual([
      "artifact",
      aDigest,
      { tenant: "default", agent: "local-agent", via: "token:agent" },
    ]);
    expect((await http.ask(`/v1/artifacts/${aDigest}?agent=other`, { as: "agent" })).status).toBe(422);
    expect((await http.ask("/v1/artifacts/..%2f..%2fetc%2fpasswd", { as: "agent" })).status).toBe(404);
  });

  it("answers every caller whether it works, and nothing more", async () => {
    expect(await bodyOf(await http.ask("/healthz"))).toEqual({ status: "ok" });
    await http.open({ broken: true });
    const broken = await http.ask("/healthz");
    expect([broken.status, await bodyOf(broken)]).toEqual([503, { status: "broken" }]);
    expect((await http.ask("/healthz", { method: "DELETE" })).status).toBe(405);
  });

  it("answers for health only what is documented", async () => {
    const { runtime } = stubRuntime();
    const server = { name: "files", status: "connected", refused: [], processId: 7, restarts: 0, changes: [] } as const;
    const health = () => ({ status: "ok", tools: 1, servers: [server] }) as const;
    await using other = await httpFixture({ ...runtime, health, checkHealth: async () => health() });
    expect(await bodyOf(await other.ask("/v1/health", { as: "agent" }))).toEqual({
      status: "ok",
      tools: 1,
      rejected: [],
      servers: [{ name: "files", status: "connected", refused: [], restarts: 0, changes: [] }],
    });
  });

  it("describes every route in /openapi.json", async () => {
    const document = await bodyOf(await http.ask("/openapi.json", { as: "agent" }));
    const described = Object.entries(document["paths"] as Record<string, object>).flatMap(([path, verbs]) =>
      Object.keys(verbs).map((verb) => `${verb} ${path}`),
    );
    expect(described.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  });

  it("describes the status of each success, and what a field means", async () => {
    const document = await bodyOf(await http.ask("/openapi.json", { as: "agent" }));
    expect(document).toMatchObject({
      paths: {
        "/v1/accounts": { post: { responses: { 201: { content: expect.anything() } } } },
        "/v1/session": { delete: { responses: { 204: { description: "Done." } } } },
        "/v1/approvals": {
          get: {
            parameters: expect.arrayContaining([expect.objectContaining({ description: "Only for this tool." })]),
          },
        },
      },
    });
  });
});

it("answers an error inside with a trace id and nothing of the error", async () => {
  const log: unknown[] = [];
  const { runtime } = stubRuntime();
  const broken = {
    ...runtime,
    invoke: () => Promise.reject(new Error("password=hunter2 at /home/x")),
  };
  await using other = await httpFixture(broken, { log: (...line) => log.push(line) });
  const response = await other.ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toMatch(/hunter2|home/);
  expect(JSON.stringify(log)).toContain((JSON.parse(text) as { error: { trace_id: string } }).error.trace_id);
});

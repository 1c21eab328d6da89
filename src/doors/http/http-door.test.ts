import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/fakes/clock.ts";
import { type HttpHouse, httpHouse } from "../../../test/fakes/http-house.ts";
import { aDigest, anApproval, anOutcome, aRecord, type Said, stubRuntime } from "../../../test/fakes/stub-runtime.ts";
import { refusal } from "../../calls/refusals.ts";
import { routes } from "./http-door.ts";

let house: HttpHouse;
let said: Said[];
const open = async (options: Parameters<typeof stubRuntime>[0] = {}): Promise<void> => {
  const stub = stubRuntime(options);
  said = stub.said;
  house = await httpHouse(stub.runtime);
};
beforeEach(() => open());
afterEach(() => house[Symbol.asyncDispose]());

const bodyOf = async (response: Response): Promise<Record<string, unknown>> => (await response.json()) as Record<string, unknown>;
const codeOf = async (response: Response): Promise<unknown> => ((await bodyOf(response))["error"] as { code?: unknown } | undefined)?.code;

/** A request that would succeed at each route, for the matrix. */
const good: Readonly<Record<string, object>> = {
  "/v1/calls": { tool: "echo" },
  "/v1/explain": { tool: "echo" },
  "/v1/calls/{id}/settle": { outcome: "succeeded", reason: "seen" },
  "/v1/approvals/{id}/modify": { arguments: {} },
  "/v1/controls/autonomy": { level: "A1" },
  "/v1/controls/tools/{name}": { enabled: true },
  "/v1/controls/servers/{name}": { enabled: true },
};
const pathOf = (path: string): string =>
  path.replace("{id}", path.includes("approvals") ? "apr_1" : aRecord().call.id).replace("{name}", "echo").replace("{digest}", aDigest);

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
};

describe("who may do what", () => {
  it("names every route in the matrix", () => {
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(Object.keys(expected).sort());
  });

  it.each(Object.entries(expected))("%s answers nobody, and the agent and the operator %j", async (route, [agent, operator]) => {
    const [method = "", path = ""] = route.split(" ");
    const body = method === "post" ? { body: good[path] ?? {} } : {};
    const ask = async (as?: "agent" | "operator"): Promise<number> => (await house.ask(pathOf(path), { as, method: method.toUpperCase(), ...body })).status;
    expect(await ask()).toBe(401);
    expect(said).toEqual([]);
    expect(await ask("agent")).toBe(agent);
    expect(await ask("operator")).toBe(operator);
    const wrong = { authorization: `Bearer ${"x".repeat(43)}` };
    expect((await house.ask(pathOf(path), { method: method.toUpperCase(), ...body, headers: wrong })).status).toBe(401);
  });

  it.each(Object.keys(expected).filter((route) => expected[route]?.[0] === 403))("tells an agent the same at %s whether the id exists or not, and asks the runtime nothing", async (route) => {
    const [method = "", path = ""] = route.split(" ");
    const refused = await house.ask(path.replace(/\{\w+\}/, "apr_unknown"), { as: "agent", method: method.toUpperCase(), ...(method === "post" && { raw: "not JSON" }) });
    expect(refused.status).toBe(403);
    expect(await codeOf(refused)).toBe("operator_only");
    expect(said).toEqual([]);
  });

  it.each(["/v1/nothing", "/v1", "/", "/openapi.json", "/mcp", "/mcp/files", "/healthz/", "/v1/calls/"])("asks for a token before saying whether %s exists", async (path) => {
    expect((await house.ask(path)).status).toBe(401);
  });

  it("shows an agent nothing of another agent or another tenant, and the operator nothing of another tenant", async () => {
    for (const [owner, tenant, agent, operator] of [["other", "default", 404, 200], ["local-agent", "acme", 404, 404]] as const) {
      await house[Symbol.asyncDispose]();
      await open({ owner, tenant });
      for (const path of [`/v1/calls/${aRecord().call.id}`, "/v1/approvals/apr_1", "/v1/approvals/apr_1/withdraw", "/v1/approvals/apr_1/resume"]) {
        const body = /withdraw|resume/.test(path) ? { body: {} } : {};
        expect((await house.ask(path, { as: "agent", ...body })).status, path).toBe(agent);
        expect((await house.ask(path, { as: "operator", ...body })).status, path).toBe(operator);
      }
      expect(await bodyOf(await house.ask("/v1/calls", { as: "agent" }))).toEqual({ calls: [] });
      expect(await bodyOf(await house.ask("/v1/approvals", { as: "agent" }))).toEqual({ approvals: [] });
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

describe("calls", () => {
  it("tells the runtime who calls by the token alone, and only the scopes that the token grants", async () => {
    await house.ask("/v1/calls", { as: "agent", body: { tool: "echo", scopes: ["mail:read", "mail:write"], run_id: "r1", autonomy: "A1", patience: "wait", approval_wait_ms: 5 } });
    expect(said[0]?.[2]).toMatchObject({
      principal: { tenant: "default", agent: "local-agent", via: "token:agent" },
      scopes: ["mail:read"],
      runId: "r1",
      autonomy: "A1",
      patience: "wait",
      approvalWaitMs: 5,
    });
  });

  it("takes the idempotency key from the header or the body, and refuses two different ones", async () => {
    await house.ask("/v1/calls", { as: "agent", body: { tool: "echo" }, headers: { "idempotency-key": "k1" } });
    expect(said[0]?.[2]).toMatchObject({ idempotencyKey: "k1" });
    const two = await house.ask("/v1/calls", { as: "agent", body: { tool: "echo", idempotency_key: "k2" }, headers: { "idempotency-key": "k1" } });
    expect(two.status).toBe(422);
  });

  it("answers 202 for a held call, with how to approve it (case 88)", async () => {
    await house[Symbol.asyncDispose]();
    await open({ outcome: anOutcome({ status: "pending", approvalId: "apr_1", expiresAt: Date.UTC(2026, 10, 20) }) });
    const response = await house.ask("/v1/calls", { as: "agent", body: { tool: "mail" } });
    expect(response.status).toBe(202);
    expect(await bodyOf(response)).toMatchObject({
      status: "pending",
      approval_id: "apr_1",
      expires_at: "2026-11-20T00:00:00.000Z",
      how_to_approve: "POST /v1/approvals/apr_1/approve",
    });
  });

  it("answers a refused call with the refusal's own number, and the outcome as the body", async () => {
    for (const [code, http] of [["tool_unknown", 404], ["cancelled", 499], ["budget_exhausted", 429], ["result_unavailable", 507]] as const) {
      await house[Symbol.asyncDispose]();
      await open({ outcome: anOutcome({ status: "error", refusal: refusal(code) }) });
      const response = await house.ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
      expect(response.status).toBe(http);
      expect(await bodyOf(response)).toMatchObject({ call_id: "call_1", refusal: { code } });
    }
  });

  it("aborts the call's signal when the client goes away (case 98)", async () => {
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${house.tokens.agent}`, "content-type": "application/json" };
    await house.door.fetch(new Request("http://127.0.0.1:7420/v1/calls", { method: "POST", headers, body: '{"tool":"echo"}', signal: leaving.signal }));
    const { signal } = said[0]?.[2] as { signal: AbortSignal };
    expect(signal.aborted).toBe(false);
    leaving.abort();
    expect(signal.aborted).toBe(true);
  });

  it("settles an unknown call by the operator's word", async () => {
    await house.ask(`/v1/calls/${aRecord().call.id}/settle`, { as: "operator", body: { outcome: "failed", reason: "not in the outbox" } });
    expect(said).toEqual([["settle", aRecord().call.id, "failed", "not in the outbox", { user: "operator", via: "token:operator", tenant: "default" }]]);
  });
});

describe("approvals", () => {
  it("names the decider by the token, never by the body", async () => {
    await house.ask("/v1/approvals/apr_1/approve", { as: "operator", body: { reason: "fine" } });
    expect(said).toEqual([["decide", "apr_1", { decision: "approved", reason: "fine", by: { user: "operator", via: "token:operator", tenant: "default" } }]]);
    expect((await house.ask("/v1/approvals/apr_1/approve", { as: "operator", body: { by: "boss" } })).status).toBe(422);
  });

  it("answers 409 with the record to a second decision, and 404 to an unknown id (case 93)", async () => {
    await house[Symbol.asyncDispose]();
    const approval = { ...anApproval(), state: "denied" as const };
    await open({ decided: { decided: false, code: "approval_decided", message: "It was denied.", approval } });
    const second = await house.ask("/v1/approvals/apr_1/approve", { as: "operator", body: {} });
    expect(second.status).toBe(409);
    expect(await bodyOf(second)).toMatchObject({ error: { code: "approval_decided" }, approval: { approval_id: "apr_1", status: "denied" } });
    expect((await house.ask("/v1/approvals/apr_2/approve", { as: "operator", body: {} })).status).toBe(404);
  });

  it("answers 410 to a decision that came too late", async () => {
    await house[Symbol.asyncDispose]();
    await open({ decided: { decided: false, code: "approval_expired", message: "It expired." } });
    expect((await house.ask("/v1/approvals/apr_1/deny", { as: "operator", body: {} })).status).toBe(410);
  });

  it("refuses to modify without arguments, and to approve with arguments (case 95)", async () => {
    expect((await house.ask("/v1/approvals/apr_1/modify", { as: "operator", body: {} })).status).toBe(422);
    expect((await house.ask("/v1/approvals/apr_1/approve", { as: "operator", body: { arguments: { to: "b" } } })).status).toBe(422);
    expect(said).toEqual([]);
    await house.ask("/v1/approvals/apr_1/modify", { as: "operator", body: { arguments: { to: "b" } } });
    expect(said[0]?.[2]).toMatchObject({ decision: "modified", arguments: { to: "b" } });
  });

  it("shows what would run, why, the risk, the level, the expiry and the trace (case 89)", async () => {
    expect(await bodyOf(await house.ask("/v1/approvals/apr_1", { as: "operator" }))).toMatchObject({
      approval_id: "apr_1",
      status: "pending",
      created_at: "2026-11-20T00:00:00.000Z",
      expires_at: "2026-11-20T01:00:00.000Z",
      trace_id: "00000000000000000000000000000001",
      risk_level: "high",
      autonomy_level: "A2",
      what: { tool: "mail", action: "default", arguments: { to: "a" } },
      why: [{ rule: "matrix A2×high", says: "CONFIRM" }],
    });
  });

  it("decides without any body at all", async () => {
    expect((await house.ask("/v1/approvals/apr_1/deny", { as: "operator", method: "POST" })).status).toBe(200);
  });
});

describe("audit, artifacts, health", () => {
  it.each(["PUT", "PATCH", "DELETE", "POST"])("changes nothing of the audit log by %s (case 199)", async (method) => {
    for (const path of ["/v1/audit", "/v1/audit/verify", "/v1/audit/export"]) {
      const response = await house.ask(path, { as: "operator", method, ...(method !== "DELETE" && { body: {} }) });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET");
    }
    expect((await house.ask("/v1/audit/evt_1", { as: "operator", method })).status).toBe(404);
    expect(said).toEqual([]);
  });

  it("turns times of a query into milliseconds, and refuses what it does not know", async () => {
    await house.ask("/v1/audit?since=2026-11-20T00:00:00Z&type=gate.&limit=5", { as: "operator" });
    expect(said[0]).toEqual(["audit.query", { since: Date.UTC(2026, 10, 20), type: "gate.", limit: 5 }]);
    for (const query of ["sinse=1", "limit=0", "limit=1e3", "since=yesterday", "limit=1&limit=2"]) {
      expect((await house.ask(`/v1/audit?${query}`, { as: "operator" })).status, query).toBe(422);
    }
  });

  it("exports the log as lines", async () => {
    const response = await house.ask("/v1/audit/export", { as: "operator" });
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(await response.text()).toBe("one\ntwo\n");
  });

  it("sends an artifact to be saved, never to be shown", async () => {
    const response = await house.ask(`/v1/artifacts/${aDigest}`, { as: "agent" });
    expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(said[0]).toEqual(["artifact", aDigest, { tenant: "default", agent: "local-agent", via: "token:agent" }]);
    expect((await house.ask(`/v1/artifacts/${aDigest}?agent=other`, { as: "agent" })).status).toBe(422);
    expect((await house.ask("/v1/artifacts/..%2f..%2fetc%2fpasswd", { as: "agent" })).status).toBe(404);
  });

  it("tells anybody whether it works, and nothing more", async () => {
    expect(await bodyOf(await house.ask("/healthz"))).toEqual({ status: "ok" });
    await house[Symbol.asyncDispose]();
    await open({ broken: true });
    const broken = await house.ask("/healthz");
    expect([broken.status, await bodyOf(broken)]).toEqual([503, { status: "broken" }]);
    expect((await house.ask("/healthz", { method: "DELETE" })).status).toBe(405);
  });

  it("describes every route in /openapi.json", async () => {
    const document = await bodyOf(await house.ask("/openapi.json", { as: "agent" }));
    const described = Object.entries(document["paths"] as Record<string, object>).flatMap(([path, verbs]) => Object.keys(verbs).map((verb) => `${verb} ${path}`));
    expect(described.sort()).toEqual(Object.keys(expected).sort());
  });
});

it("answers an error inside with a trace id and nothing of the error", async () => {
  const log: unknown[] = [];
  const { runtime } = stubRuntime();
  const broken = { ...runtime, invoke: () => Promise.reject(new Error("password=hunter2 at /home/x")) };
  await using other = await httpHouse(broken, { log: (...line) => log.push(line) });
  const response = await other.ask("/v1/calls", { as: "agent", body: { tool: "echo" } });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toMatch(/hunter2|home/);
  expect(JSON.stringify(log)).toContain((JSON.parse(text) as { error: { trace_id: string } }).error.trace_id);
});

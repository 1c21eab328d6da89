import { afterEach, beforeEach, expect, it } from "vitest";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";

/** The HTTP server over the real runtime: from the request to the audit log. */
let inside: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  inside = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 60_000 } });
  http = await httpFixture(inside.runtime);
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await inside[Symbol.asyncDispose]();
});

type Fields = Readonly<Record<string, unknown>>;
async function answered(asked: Promise<Response>): Promise<readonly [number, Fields]> {
  const response = await asked;
  return [response.status, (await response.json()) as Fields];
}
const mail = (to: string, more: Fields = {}) =>
  answered(http.ask("/v1/calls", { as: "agent", body: { tool: "mail", arguments: { to }, ...more } }));
const decide = (id: unknown, verb: string, body: Fields = {}) =>
  answered(http.ask(`/v1/approvals/${id}/${verb}`, { as: "operator", body }));
const resume = (id: unknown) => answered(http.ask(`/v1/approvals/${id}/resume`, { as: "agent", body: {} }));

it("runs a safe call at once, and shows it to the agent afterwards", async () => {
  const [status, outcome] = await answered(
    http.ask("/v1/calls", { as: "agent", body: { tool: "echo", arguments: { to: "x" } } }),
  );
  expect([status, outcome]).toMatchObject([200, { status: "ok", text: "to x" }]);
  expect(await answered(http.ask(`/v1/calls/${outcome["call_id"]}`, { as: "agent" }))).toMatchObject([
    200,
    { state: "ok", tool: "echo", requested_by: { via: "token:agent" } },
  ]);
});

it("finds a call by its id also when its caller gave it a key", async () => {
  const [, outcome] = await answered(
    http.ask("/v1/calls", {
      as: "agent",
      body: { tool: "echo", arguments: { to: "x" }, idempotency_key: "k" },
    }),
  );
  expect((await http.ask(`/v1/calls/${outcome["call_id"]}`, { as: "agent" })).status).toBe(200);
});

it("holds a risky call, lets the operator approve it, and runs it once however often it is resumed (case 93)", async () => {
  const [status, held] = await mail("a");
  expect([status, held]).toMatchObject([
    202,
    { status: "pending", how_to_approve: "A person decides in the Postern console." },
  ]);
  expect(await decide(held["approval_id"], "approve", { reason: "fine" })).toMatchObject([
    200,
    { status: "approved", decision: { by: "operator", via: "token:operator", reason: "fine" } },
  ]);
  expect(await decide(held["approval_id"], "approve")).toMatchObject([
    409,
    { error: { code: "approval_decided" }, approval: { status: "approved" } },
  ]);
  expect(inside.ran).toEqual([]);
  expect(await resume(held["approval_id"])).toMatchObject([200, { status: "ok", text: "to a" }]);
  expect(await resume(held["approval_id"])).toMatchObject([200, { status: "ok", text: "to a", replayed: true }]);
  expect(inside.ran).toEqual([{ to: "a" }]);
});

it("lets the operator go on with an agent's approved call", async () => {
  const [, held] = await mail("a");
  await decide(held["approval_id"], "approve");
  expect(
    await answered(http.ask(`/v1/approvals/${held["approval_id"]}/resume`, { as: "operator", body: {} })),
  ).toMatchObject([200, { status: "ok", text: "to a" }]);
  expect(inside.ran).toEqual([{ to: "a" }]);
});

it("never lets an agent's token decide, and the operator's not on its own call", async () => {
  const [, held] = await mail("a");
  expect((await http.ask(`/v1/approvals/${held["approval_id"]}/approve`, { as: "agent", body: {} })).status).toBe(403);
  const [, own] = await answered(
    http.ask("/v1/calls", { as: "operator", body: { tool: "mail", arguments: { to: "b" } } }),
  );
  expect(await decide(own["approval_id"], "approve")).toMatchObject([403, { error: { code: "decider_not_allowed" } }]);
  expect(inside.ran).toEqual([]);
});

it("runs the edited arguments and shows both (case 96)", async () => {
  const [, held] = await mail("a");
  expect(await decide(held["approval_id"], "modify", { arguments: { to: "b" } })).toMatchObject([
    200,
    { what: { arguments: { to: "b" } }, asked: { to: "a" } },
  ]);
  expect((await resume(held["approval_id"]))[0]).toBe(200);
  expect(inside.ran).toEqual([{ to: "b" }]);
});

it("tells a denied caller so, and never runs it (case 91)", async () => {
  const [, held] = await mail("a");
  await decide(held["approval_id"], "deny", { reason: "wrong person" });
  expect(await resume(held["approval_id"])).toMatchObject([
    403,
    { status: "denied", refusal: { code: "approval_denied" } },
  ]);
  expect(inside.ran).toEqual([]);
});

it("lets the agent that asked take its request back", async () => {
  const [, held] = await mail("a");
  expect(
    await answered(http.ask(`/v1/approvals/${held["approval_id"]}/withdraw`, { as: "agent", body: {} })),
  ).toMatchObject([200, { status: "withdrawn" }]);
});

it("answers 410 when the approval expired before it was decided", async () => {
  const [, held] = await mail("a");
  await inside.clock.advance(61_000);
  expect((await decide(held["approval_id"], "approve"))[0]).toBe(410);
});

it("lists open requests and no decided ones (case 105)", async () => {
  const [, first] = await mail("a");
  await mail("b");
  await decide(first["approval_id"], "deny");
  const [, { approvals }] = await answered(http.ask("/v1/approvals?state=pending", { as: "operator" }));
  expect(approvals).toMatchObject([{ what: { tool: "mail", arguments: { to: "b" } } }]);
});

it("writes down who decided, when, why and at which risk, and gives every event a trace id (cases 99, 200)", async () => {
  const [, held] = await mail("a");
  await decide(held["approval_id"], "deny", { reason: "wrong person" });
  const [, { events }] = await answered(http.ask("/v1/audit", { as: "operator" }));
  const all = events as readonly Fields[];
  expect(all.find(({ type }) => type === "gate.denied")).toMatchObject({
    decided_by: "operator",
    reason: "wrong person",
    risk_level: "high",
    tool_name: "mail",
  });
  for (const event of all) expect(event["trace_id"]).toMatch(/^[0-9a-f]{32}$/);
});

it("changes the autonomy for the next call, and writes down who did (case 141)", async () => {
  expect(
    (await answered(http.ask("/v1/controls/autonomy", { as: "operator", body: { level: "A0" } })))[1],
  ).toMatchObject({
    autonomy: "A0",
  });
  expect((await mail("a"))[1]).toMatchObject({ status: "preview" });
  const [, { events }] = await answered(http.ask("/v1/audit?type=operator.", { as: "operator" }));
  expect(events).toMatchObject([{ type: "operator.action.autonomy", decided_by: "operator" }]);
});

it("pauses and resumes all calls", async () => {
  await http.ask("/v1/controls/pause", { as: "operator", body: { reason: "incident" } });
  expect(await mail("a")).toMatchObject([503, { refusal: { code: "paused" } }]);
  await http.ask("/v1/controls/resume", { as: "operator", body: {} });
  expect((await mail("a"))[0]).toBe(202);
  const [, { changes }] = await answered(http.ask("/v1/controls/history", { as: "operator" }));
  expect(changes).toMatchObject([
    { change: "resume" },
    { change: "pause", by: "operator", via: "token:operator", reason: "incident" },
  ]);
});

it("explains a call without running it", async () => {
  const explained = await answered(
    http.ask("/v1/explain", { as: "agent", body: { tool: "mail", arguments: { to: "a" } } }),
  );
  expect(explained).toMatchObject([200, { reached: "verdict", decision: { verdict: "CONFIRM", risk: "high" } }]);
  expect(inside.ran).toEqual([]);
});

it("refuses an unknown tool, bad arguments and another use of a key with the code's own number", async () => {
  const call = (body: Fields) => answered(http.ask("/v1/calls", { as: "agent", body }));
  expect(await call({ tool: "constructor" })).toMatchObject([404, { refusal: { code: "tool_unknown" } }]);
  expect(await call({ tool: "echo", arguments: { to: 1 } })).toMatchObject([
    422,
    { refusal: { code: "arguments_invalid" } },
  ]);
  await call({ tool: "echo", arguments: { to: "a" }, idempotency_key: "k" });
  expect(await call({ tool: "echo", arguments: { to: "b" }, idempotency_key: "k" })).toMatchObject([
    409,
    { refusal: { code: "idempotency_conflict" } },
  ]);
});

it("verifies the log it wrote", async () => {
  await mail("a");
  expect(await answered(http.ask("/v1/audit/verify", { as: "operator" }))).toMatchObject([200, { intact: true }]);
  const { note } = (await answered(http.ask("/v1/audit/checkpoint", { as: "operator", body: {} })))[1];
  expect(
    await answered(http.ask(`/v1/audit/verify?against=${encodeURIComponent(String(note))}`, { as: "operator" })),
  ).toMatchObject([200, { intact: true }]);
  const [, { tools }] = await answered(http.ask("/v1/tools", { as: "agent" }));
  expect(tools).toMatchObject([
    { tool: "drop", risk: "critical" },
    { tool: "echo", health: { status: "healthy" } },
    { tool: "mail" },
  ]);
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { Runtime, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { bodyOf, type HttpFixture, httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { differences } from "../fakes/projected-again.ts";
import { RunFolder } from "../fakes/run-folder.ts";
import { boss, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { isPostgres, newStore, storeIn, storeKinds } from "../fakes/story-store.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Gate extends Pick<HttpFixture, "ask"> {
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  readonly close: () => Promise<void>;
}

async function gate(options: RuntimeOptions = {}): Promise<Gate> {
  const { runtime, clock } = await runtimeFixture(options);
  const http = await httpFixture(runtime, { clock });
  const close = async (): Promise<void> => {
    await http.server.close();
    await runtime.close();
  };
  cleanups.push(() => http[Symbol.asyncDispose](), close);
  return { ask: http.ask, runtime, clock, close };
}

const dayMs = 86_400_000;

const save = ({ ask }: Gate, id: string, state: unknown, version = 0): Promise<Response> =>
  ask(`/v1/agent-runs/${id}`, { as: "agent", method: "PUT", body: { state, expected_version: version } });
const remove = ({ ask }: Gate, id: string): Promise<Response> =>
  ask(`/v1/agent-runs/${id}`, { as: "agent", method: "DELETE" });
const call = ({ ask }: Gate, tool: string, to: string, more: object = {}): Promise<Response> =>
  ask("/v1/calls", { as: "agent", body: { tool, arguments: { to }, ...more } });
const codeIn = async (response: Response): Promise<unknown> => {
  const { error, refusal } = await bodyOf(response);
  return ((error ?? refusal) as { readonly code?: string } | undefined)?.code;
};
const typesOf = async ({ runtime }: Gate, type: string): Promise<number> =>
  (await runtime.audit.query({ type, limit: 1000 })).length;

describe.each(storeKinds)("agent runs of an agent's token, in a %s store", (kind) => {
  it("are refused above a megabyte, and nothing is stored", async () => {
    const at = await gate({ store: newStore(kind) });
    expect((await save(at, "r", { text: "x".repeat(990_000) })).status).toBe(200);
    const large = await save(at, "large", { text: "x".repeat(1_000_000) });
    expect([large.status, await codeIn(large)]).toEqual([413, "body_too_large"]);
    expect((await at.ask("/v1/agent-runs/large", { as: "agent" })).status).toBe(404);
  });

  it("count as calls of the agent's budget", async () => {
    const at = await gate({ store: newStore(kind), limits: { maxToolCalls: 3 } });
    expect((await save(at, "r", {})).status).toBe(200);
    expect((await save(at, "r", {}, 1)).status).toBe(200);
    expect((await call(at, "echo", "a")).status).toBe(200);
    const refused = await save(at, "r", {}, 2);
    expect([refused.status, await codeIn(refused)]).toEqual([429, "budget_exhausted"]);
    expect((await call(at, "echo", "b")).status).toBe(429);
  });

  it("are at most a thousand, until the agent deletes one", async () => {
    const at = await gate({ store: newStore(kind) });
    const principal = { tenant: "default", agent: "local-agent" };
    const saves = Array.from({ length: 1_000 }, (_, i) =>
      at.runtime.agentRuns.save({ principal, runId: `r${i}` }, {}, 0),
    );
    expect((await Promise.all(saves)).every(Boolean)).toBe(true);
    const refused = await save(at, "more", {});
    expect([refused.status, await codeIn(refused)]).toEqual([429, "overloaded"]);
    expect((await save(at, "r1", {}, 1)).status).toBe(200);
    expect((await remove(at, "r0")).status).toBe(204);
    expect((await save(at, "more", {})).status).toBe(200);
  });

  it("begin again at version 0 when they were deleted", async () => {
    const at = await gate({ store: newStore(kind) });
    await save(at, "r", { n: 1 });
    await save(at, "r", { n: 2 }, 1);
    expect((await remove(at, "r")).status).toBe(204);
    expect((await remove(at, "r")).status).toBe(404);
    expect((await save(at, "r", { n: 3 }, 2)).status).toBe(409);
    expect(await bodyOf(await save(at, "r", { n: 3 }))).toEqual({ run_id: "r", version: 1 });
    expect(await bodyOf(await at.ask("/v1/agent-runs/r", { as: "agent" }))).toMatchObject({
      version: 1,
      state: { n: 3 },
    });
  });

  it("have an event for each write", async () => {
    const at = await gate({ store: newStore(kind) });
    await save(at, "r", { text: "hello" });
    await remove(at, "r");
    const events = await at.runtime.audit.query({ type: ["agent_run.saved", "agent_run.deleted"] });
    expect(events.map(({ type, data, principal }) => [type, data, principal?.agent])).toEqual([
      ["agent_run.saved", { agent_run: "r", bytes: 16, version: 1 }, "local-agent"],
      ["agent_run.deleted", { agent_run: "r", version: 1 }, "local-agent"],
    ]);
  });
});

describe("an agent run that is not saved", () => {
  const listed = ({ ask }: Gate): Promise<unknown> =>
    ask("/v1/agent-runs", { as: "agent" })
      .then(bodyOf)
      .then(({ run_ids }) => run_ids);

  // A timer an hour, which reads: too many for a database.
  it.skipIf(isPostgres)("ends after ninety days", async () => {
    const at = await gate();
    await save(at, "old", {});
    await at.clock.advance(60 * dayMs);
    await save(at, "young", {});
    await at.clock.advance(31 * dayMs);
    expect(await listed(at)).toEqual(["young"]);
    expect(await typesOf(at, "agent_run.expired")).toBe(1);
  });

  it("ends at the next start when no process ran meanwhile", async () => {
    const store = newStore("sqlite");
    const before = await gate({ store });
    await save(before, "old", {});
    await before.close();
    const after = await gate({ store, clock: new FakeClock(before.clock.now() + 91 * dayMs) });
    await expect.poll(() => listed(after)).toEqual([]);
    expect(await typesOf(after, "agent_run.expired")).toBe(1);
  });
});

describe.each(storeKinds)("open requests, in a %s store", (kind) => {
  const limited = { patience: "suspend", maxOpenPerAgent: 3 } as const;

  it("of one agent are limited, also when the calls come at once", async () => {
    const at = await gate({ store: newStore(kind), approvals: limited });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => call(at, "mail", `m${i}`)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    const refused = await call(at, "mail", "one more");
    expect([refused.status, await codeIn(refused)]).toEqual([429, "overloaded"]);
  });

  it("have room again when one is withdrawn, decided or expired", async () => {
    const at = await gate({ store: newStore(kind), approvals: limited });
    const ids: unknown[] = [];
    for (const to of ["a", "b", "c"]) ids.push((await bodyOf(await call(at, "mail", to)))["approval_id"]);
    expect((await call(at, "mail", "d")).status).toBe(429);
    expect((await call(at, "mail", "a")).status).toBe(202); // it joins its own request
    await at.ask(`/v1/approvals/${ids[0]}/withdraw`, { as: "agent", method: "POST" });
    expect((await call(at, "mail", "e")).status).toBe(202);
    await at.runtime.approvals.decide(String(ids[1]), { decision: "denied", by: boss });
    expect((await call(at, "mail", "f")).status).toBe(202);
    expect((await call(at, "mail", "g")).status).toBe(429);
    await at.clock.advance(3_700_000);
    expect((await call(at, "mail", "g")).status).toBe(202);
  });

  it("of an earlier process count too", async () => {
    if (kind === "memory") return; // it ends with its process
    const store = newStore(kind);
    const before = await gate({ store, approvals: limited });
    for (const to of ["a", "b", "c"]) expect((await call(before, "mail", to)).status).toBe(202);
    await before.close();
    expect((await call(await gate({ store, approvals: limited }), "mail", "d")).status).toBe(429);
  });

  it("of another agent are not limited by them, and a filter finds them", async () => {
    const at = await gate({ store: newStore(kind), approvals: limited });
    for (const to of ["a", "b", "c", "d"]) await call(at, "mail", to);
    const other = { tenant: "default", agent: "other" };
    const held = await at.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, { principal: other });
    expect(held.status).toBe("pending");
    const page = await bodyOf(await at.ask("/v1/approvals?state=pending&agent=other", { as: "operator" }));
    expect(page["approvals"]).toMatchObject([{ approval_id: held.approvalId }]);
    const own = await bodyOf(await at.ask("/v1/approvals?state=pending&agent=other", { as: "agent" }));
    expect(own["approvals"]).toEqual([]);
  });
});

describe.each(storeKinds)("refusals above the budget, in a %s store", (kind) => {
  it("have one event, and one more with the count of all others", async () => {
    const at = await gate({ store: newStore(kind), limits: { maxToolCalls: 1 } });
    expect((await call(at, "echo", "a")).status).toBe(200);
    for (let i = 0; i < 50; i += 1) expect((await call(at, `tool${i}`, "a", { run_id: `r${i}` })).status).toBe(429);
    const refused = await at.runtime.audit.query({ type: "tool_call.refused" });
    expect(refused).toMatchObject([{ code: "budget_exhausted", tool_name: "tool0", refs: { run: "r0" } }]);
    await at.clock.advance(60_000);
    const counted = await at.runtime.audit.query({ type: "budget.refused" });
    expect(counted).toMatchObject([
      {
        stage: "budget",
        summary: "49 more calls of local-agent refused: budget_exhausted",
        principal: { agent: "local-agent" },
        data: { calls: 49, code: "budget_exhausted", run_id: "r0", first_call: refused[0]?.refs.tool_call },
      },
    ]);
    await at.clock.advance(600_000);
    expect(await typesOf(at, "budget.refused")).toBe(1);
  });

  it("do not lengthen the trace of their session", async () => {
    const { runtime } = await gate({ store: newStore(kind) });
    await using session = runtime.openSession({ maxToolCalls: 1 });
    for (let i = 0; i < 5; i += 1) await session.invoke({ tool: "echo", arguments: { to: "a" } });
    expect(session.trace.map(({ status }) => status)).toEqual(["ok", "error"]);
  });
});

it("counts refusals above the budget that a runtime closes with", async () => {
  const kept = storeIn(join(ownFolder(), "postern.db"));
  const at = await gate({ ...kept, limits: { maxToolCalls: 1 } });
  for (const to of ["a", "b", "c", "d"]) await call(at, "echo", to);
  await at.close();
  const again = await gate(kept);
  const [counted] = await again.runtime.audit.query({ type: "budget.refused" });
  expect(counted?.data).toMatchObject({ calls: 2 });
  expect(await again.runtime.audit.verify()).toMatchObject({ intact: true });
});

describe("a run folder", () => {
  const archived = async (limits: RuntimeOptions["limits"]): Promise<Gate & { readonly folder: string }> => {
    const folder = ownFolder();
    return { ...(await gate({ store: newStore("sqlite"), archive: { folder }, limits: limits ?? {} })), folder };
  };
  const runsIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => !name.startsWith("."));

  it("is made only for a run whose call passed the budget", async () => {
    const at = await archived({ maxToolCalls: 2 });
    for (const run of ["r1", "r2", "r3", "r4"]) await call(at, "echo", run, { run_id: run });
    await at.clock.advance(60_000);
    await at.runtime.runs?.flush();
    expect(runsIn(at.folder)).toEqual(["r1", "r2"]);
  });

  it("has a line for the first refusal and one with the count, and is intact", async () => {
    const at = await archived({ maxToolCalls: 1 });
    for (let i = 0; i < 5; i += 1) await call(at, "echo", `${i}`, { run_id: "r1" });
    await at.clock.advance(60_000);
    await at.runtime.runs?.flush();
    const lines = readFileSync(join(at.folder, "r1", "logs", "tools.jsonl"), "utf8")
      .trim()
      .split("\n");
    expect(lines.map((line) => JSON.parse(line).status)).toEqual(["completed", "blocked"]);
    const events = await at.runtime.runs?.events({ runId: "r1" }, { type: "budget.refused" });
    expect(events).toMatchObject([{ data: { said: { data: { calls: 3 } } } }]);
    expect(await differences(at.runtime, new RunFolder(at.folder, "r1"), { runId: "r1" })).toEqual([]);
  });

  it("is intact when its run was refused before its first call passed", async () => {
    const at = await archived({ maxToolCalls: 1 });
    await call(at, "echo", "a", { run_id: "r1" });
    await call(at, "echo", "b", { run_id: "r2" });
    await at.clock.advance(1_800_000); // the budget is new
    expect((await call(at, "echo", "c", { run_id: "r2" })).status).toBe(200);
    await at.runtime.runs?.flush();
    expect(await differences(at.runtime, new RunFolder(at.folder, "r2"), { runId: "r2" })).toEqual([]);
    expect(new RunFolder(at.folder, "r2").calls).toHaveLength(1);
  });

  it("starts, describes and finishes within the budget of its agent, with an event", async () => {
    const at = await archived({ maxToolCalls: 3 });
    const change = (id: string, as: string, body: object = {}): Promise<Response> =>
      at.ask(`/v1/runs/${id}/${as}`, { as: "agent", body });
    expect((await change("r1", "begin")).status).toBe(200);
    expect((await change("r1", "describe", { transcript: "hello" })).status).toBe(200);
    expect((await change("r1", "finish")).status).toBe(200);
    expect(await codeIn(await change("r2", "begin"))).toBe("budget_exhausted");
    expect(existsSync(join(at.folder, "r2"))).toBe(false);
    const events = await at.runtime.audit.query({ type: "agent." });
    expect(events.map(({ type }) => type)).toEqual(["agent.run_begun", "agent.run_described", "agent.run_finished"]);
    expect(await differences(at.runtime, new RunFolder(at.folder, "r1"), { runId: "r1" })).toEqual([]);
  });

  it("has a transcript of at most ten megabytes", async () => {
    const at = await archived({});
    const describeRun = (): Promise<Response> =>
      at.ask("/v1/runs/r1/describe", { as: "agent", body: { transcript: "x".repeat(999_999) } });
    await at.ask("/v1/runs/r1/begin", { as: "agent", body: {} });
    for (let i = 0; i < 10; i += 1) expect((await describeRun()).status).toBe(200);
    const refused = await describeRun();
    const { error } = await bodyOf(refused);
    expect([refused.status, error]).toMatchObject([
      422,
      { code: "request_invalid", message: expect.stringContaining("The transcript of `r1` has") },
    ]);
  });
});

describe("a resume over HTTP", () => {
  it("counts as a call unless it runs an approved one", async () => {
    const at = await gate({ limits: { maxToolCalls: 3 } });
    const id = String((await bodyOf(await call(at, "mail", "a")))["approval_id"]);
    const resume = (): Promise<Response> => at.ask(`/v1/approvals/${id}/resume`, { as: "agent", method: "POST" });
    expect([(await resume()).status, (await resume()).status, (await resume()).status]).toEqual([202, 202, 429]);
    await at.runtime.approvals.decide(id, { decision: "approved", by: boss });
    expect((await resume()).status).toBe(200);
    expect((await resume()).status).toBe(429);
  });
});

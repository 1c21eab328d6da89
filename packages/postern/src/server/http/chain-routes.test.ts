import { expect, it } from "vitest";
import { fakeDriver } from "../../../../../test/fakes/fake-sandbox.ts";
import { httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";

const jsonOf = async (response: Response) => (await response.json()) as Record<string, never>;
const code = 'const b = await call("mail", { to: "a" }); return b.text;';

it("a script is called as any tool is, listed while it waits, and goes on by its id", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const body = { tool: "tool_chain", arguments: { code, language: "javascript" } };
  const pending = await http.ask("/v1/calls", { as: "agent", body });
  expect(pending.status).toBe(202);
  const { call_id, approval_id } = await jsonOf(pending);
  for (const as of ["agent", "operator"] as const)
    expect(await jsonOf(await http.ask("/v1/chains", { as }))).toMatchObject({
      chains: [
        {
          call_id,
          state: "waiting",
          language: "javascript",
          source: code,
          engine: "fake",
          waiting: [{ tool: "mail", approval_id, line: 1 }],
        },
      ],
      engines: [{ name: "fake", language: "javascript" }],
    });
  const resume = { as: "agent", body: {} } as const;
  expect((await http.ask(`/v1/chains/${String(call_id)}/resume`, resume)).status).toBe(202);
  await http.ask(`/v1/approvals/${String(approval_id)}/approve`, { as: "operator", body: {} });
  const done = await http.ask(`/v1/chains/${String(call_id)}/resume`, resume);
  expect(await jsonOf(done)).toMatchObject({ status: "ok", structured: { output_text: "to a" } });
  expect((await http.ask(`/v1/chains/${String(call_id)}/resume`, resume)).status).toBe(404);
  expect(await jsonOf(await http.ask("/v1/chains", { as: "operator" }))).toMatchObject({ chains: [] });
});

it("a person who lets a script go on is in the log, once; not while it waits still, and not the agent whose own it is", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime, { clock: h.clock });
  const began = async (to: string): Promise<readonly [string, string]> => {
    const args = { code: code.replace('"a"', JSON.stringify(to)), language: "javascript" };
    const pending = await http.ask("/v1/calls", { as: "agent", body: { tool: "tool_chain", arguments: args } });
    const { call_id, approval_id } = await jsonOf(pending);
    return [String(call_id), String(approval_id)];
  };
  const resumed = async (id: string, as: "agent" | "operator") =>
    (await http.ask(`/v1/chains/${id}/resume`, { as, body: {} })).status;
  const [[one, first], [two, second]] = [await began("one"), await began("two")];
  expect(await resumed(one, "operator")).toBe(202);
  for (const id of [first, second]) await http.ask(`/v1/approvals/${id}/approve`, { as: "operator", body: {} });
  expect([await resumed(one, "operator"), await resumed(one, "operator")]).toEqual([200, 404]);
  expect(await resumed(two, "agent")).toBe(200);
  const noted = await h.runtime.audit.query({ type: "operator.action.call_resumed" });
  expect(noted).toMatchObject([
    { decided_by: "operator", decided_via: "token:operator", data: { call_id: one, tool: "tool_chain" } },
  ]);
});

it("another agent's script does not exist for this one", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const { callId } = await h.runtime.runChain({ code }, { principal: { tenant: "default", agent: "other" } });
  expect(await jsonOf(await http.ask("/v1/chains", { as: "agent" }))).toMatchObject({ chains: [] });
  expect((await http.ask(`/v1/chains/${callId}/resume`, { as: "agent", body: {} })).status).toBe(404);
});

it("an agent's own script is listed however many newer ones of others there are, and whatever the limit", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const body = { tool: "tool_chain", arguments: { code } };
  const { call_id } = await jsonOf(await http.ask("/v1/calls", { as: "agent", body }));
  for (let n = 0; n < 3; n += 1) {
    const other = { principal: { tenant: "default", agent: `other ${n}` } };
    await h.runtime.runChain({ code: code.replace('"a"', `"${n}"`) }, other);
  }
  expect(await jsonOf(await http.ask("/v1/chains?limit=2", { as: "agent" }))).toMatchObject({ chains: [{ call_id }] });
  expect((await jsonOf(await http.ask("/v1/chains?limit=2", { as: "operator" })))["chains"]).toHaveLength(2);
});

it("scripts are gone through page by page, new to old: nothing twice, nothing left out", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const began: string[] = [];
  for (const to of ["a", "b", "c", "d", "e"]) {
    const args = { code: code.replace('"a"', JSON.stringify(to)), language: "javascript" };
    const { call_id } = await jsonOf(
      await http.ask("/v1/calls", { as: "agent", body: { tool: "tool_chain", arguments: args } }),
    );
    began.unshift(String(call_id));
  }
  const seen: string[][] = [];
  for (let query = "?limit=2"; query !== ""; ) {
    const { chains, next_before } = await jsonOf(await http.ask(`/v1/chains${query}`, { as: "agent" }));
    const page: readonly { readonly call_id: string }[] = chains ?? [];
    seen.push(page.map(({ call_id }) => call_id));
    query = next_before === undefined ? "" : `?limit=2&before=${String(next_before)}`;
  }
  expect(seen).toEqual([began.slice(0, 2), began.slice(2, 4), began.slice(4)]);
  expect((await http.ask("/v1/chains?before=-1", { as: "agent" })).status).toBe(422);
});

it("a run's timeline has the line of each call of a script, while it waits, and when it is on another page", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const twice = `await call("echo", { to: "a" }); ${code}`;
  const sent = { as: "agent", body: { tool: "tool_chain", arguments: { code: twice }, run_id: "r" } } as const;
  const { call_id, approval_id } = await jsonOf(await http.ask("/v1/calls", sent));
  const linesOf = async (query: string): Promise<readonly unknown[]> => {
    const answered = await jsonOf(await http.ask(`/v1/runs/r/timeline${query}`, { as: "agent" }));
    const calls: readonly { readonly tool: string; readonly line?: number }[] = answered["calls"] ?? [];
    return calls.map(({ tool, line }) => [tool, line]);
  };
  const lines = [
    ["mail", 2],
    ["echo", 1],
  ];
  expect(await linesOf("")).toEqual([...lines, ["tool_chain", undefined]]);
  expect(await linesOf("?limit=2")).toEqual(lines);
  await http.ask(`/v1/approvals/${String(approval_id)}/approve`, { as: "operator", body: {} });
  await http.ask(`/v1/chains/${String(call_id)}/resume`, { as: "agent", body: {} });
  expect(await linesOf("")).toEqual([...lines, ["tool_chain", undefined]]);
  expect(await linesOf("?limit=2")).toEqual(lines);
});

it("a page of a run's timeline brings the scripts that made its calls, where they stand on another one", async () => {
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using http = await httpFixture(h.runtime);
  const body = { tool: "tool_chain", arguments: { code }, run_id: "r" };
  const { call_id } = await jsonOf(await http.ask("/v1/calls", { as: "agent", body }));
  const page = async (query: string) => jsonOf(await http.ask(`/v1/runs/r/timeline${query}`, { as: "agent" }));
  const { calls, scripts, next_before } = await page("?limit=1");
  expect(calls).toMatchObject([{ tool: "mail", parent_id: call_id }]);
  expect(scripts).toMatchObject([{ call_id, tool: "tool_chain", state: "suspended" }]);
  expect(await page(`?limit=1&before=${String(next_before)}`)).not.toHaveProperty("scripts");
  expect(await page("")).not.toHaveProperty("scripts");
});

it("without code mode there is nothing to list", async () => {
  await using h = await runtimeFixture();
  await using http = await httpFixture(h.runtime);
  expect(await jsonOf(await http.ask("/v1/chains", { as: "operator" }))).toEqual({ chains: [], engines: [] });
});

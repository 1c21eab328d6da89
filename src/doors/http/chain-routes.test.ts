import { expect, it } from "vitest";
import { fakeDriver } from "../../../test/fakes/fake-sandbox.ts";
import { house } from "../../../test/fakes/house.ts";
import { httpHouse } from "../../../test/fakes/http-house.ts";

const jsonOf = async (response: Response) => (await response.json()) as Record<string, never>;
const code = 'const b = await call("mail", { to: "a" }); return b.text;';

it("a script is called as any tool is, listed while it waits, and goes on by its id", async () => {
  await using h = await house({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using door = await httpHouse(h.runtime);
  const body = { tool: "tool_chain", arguments: { code, language: "javascript" } };
  const pending = await door.ask("/v1/calls", { as: "agent", body });
  expect(pending.status).toBe(202);
  const { call_id, approval_id } = await jsonOf(pending);
  for (const as of ["agent", "operator"] as const)
    expect(await jsonOf(await door.ask("/v1/chains", { as }))).toMatchObject({
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
  expect((await door.ask(`/v1/chains/${String(call_id)}/resume`, resume)).status).toBe(202);
  await door.ask(`/v1/approvals/${String(approval_id)}/approve`, { as: "operator", body: {} });
  const done = await door.ask(`/v1/chains/${String(call_id)}/resume`, resume);
  expect(await jsonOf(done)).toMatchObject({ status: "ok", structured: { output_text: "to a" } });
  expect((await door.ask(`/v1/chains/${String(call_id)}/resume`, resume)).status).toBe(404);
  expect(await jsonOf(await door.ask("/v1/chains", { as: "operator" }))).toMatchObject({ chains: [] });
});

it("another agent's script does not exist for this one", async () => {
  await using h = await house({ chains: { drivers: [fakeDriver()], engines: ["fake"] } });
  await using door = await httpHouse(h.runtime);
  const { callId } = await h.runtime.runChain({ code }, { principal: { tenant: "default", agent: "other" } });
  expect(await jsonOf(await door.ask("/v1/chains", { as: "agent" }))).toMatchObject({ chains: [] });
  expect((await door.ask(`/v1/chains/${callId}/resume`, { as: "agent", body: {} })).status).toBe(404);
});

it("without code mode there is nothing to list", async () => {
  await using h = await house();
  await using door = await httpHouse(h.runtime);
  expect(await jsonOf(await door.ask("/v1/chains", { as: "operator" }))).toEqual({ chains: [], engines: [] });
});

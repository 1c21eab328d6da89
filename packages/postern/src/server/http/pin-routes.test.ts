import { afterEach, expect, it } from "vitest";
import { Changing, read } from "../../../../../test/fakes/changing.ts";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { createRuntime, defineTool } from "../../index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A gateway to a server whose tool is new and waits for an operator. */
async function gateway(): Promise<HttpFixture> {
  const server = new Changing({ ...read, description: "Reads \u0430 file.\u200b" });
  const own = defineTool({ name: "own", description: "Ours.", risk: "safe", idempotent: true, execute: () => "ok" });
  const runtime = await createRuntime({
    tools: [own],
    servers: { files: server.config({ pin: "strict", risk: "safe" }) },
  });
  const http = await httpFixture(runtime);
  cleanups.push(
    () => server[Symbol.dispose](),
    () => runtime.close(),
    () => http[Symbol.asyncDispose](),
  );
  return http;
}

const jsonOf = async (response: Response) => (await response.json()) as Record<string, never>;
const operator = { as: "operator" } as const;
const path = "/v1/tools/files__read";

it("an operator sees what a tool is defined as, escaped, approves exactly that, and agents may call it", async () => {
  const { ask } = await gateway();
  const call = { as: "agent", body: { tool: "files__read", arguments: { path: "a" } } } as const;
  expect(await jsonOf(await ask("/v1/calls", call))).toMatchObject({ refusal: { code: "tool_unavailable" } });
  const { actions } = await jsonOf(await ask(path, { as: "agent" }));
  expect(actions).toMatchObject([
    { blocked: "new", description: "Blocked until an operator approves its definition." },
  ]);
  const changes = await jsonOf(await ask(`${path}/changes`, operator));
  expect(changes).toMatchObject({ tool: "files__read", server: "files", state: "new" });
  const { offered, differences } = changes as unknown as {
    offered: { definition: string; body: object };
    differences: { field: string; rows: string[] }[];
  };
  expect(offered.body).toMatchObject({ description: "Reads \u0430 file.\u200b" });
  expect(differences.find(({ field }) => field === "description")?.rows).toEqual(["+ Reads \\u{430} file.\\u{200b}"]);
  const body = { definition: offered.definition, reason: "looked" };
  expect(await jsonOf(await ask(`${path}/approve`, { ...operator, body }))).toMatchObject({
    state: "pinned",
    pinned: { definition: offered.definition, by: "operator", via: "token:operator" },
  });
  expect(await jsonOf(await ask("/v1/calls", call))).toMatchObject({ status: "ok" });
});

it("a definition that is not the offered one is refused with 409, one that is no digest with 422", async () => {
  const { ask } = await gateway();
  const other = await ask(`${path}/approve`, { ...operator, body: { definition: "0".repeat(64) } });
  expect(other.status).toBe(409);
  expect(await jsonOf(other)).toMatchObject({ error: { code: "definition_differs" } });
  for (const body of [{}, { definition: "0" }, { definition: "0".repeat(64), by: "me" }])
    expect((await ask(`${path}/approve`, { ...operator, body })).status, JSON.stringify(body)).toBe(422);
});

it("a tool of our own, and one that is none, have nothing to approve", async () => {
  const { ask } = await gateway();
  const own = await ask("/v1/tools/own/changes", operator);
  expect(own.status).toBe(404);
  expect(await jsonOf(own)).toMatchObject({ error: { message: expect.stringContaining("comes from no server") } });
  const body = { definition: "0".repeat(64) };
  expect((await ask("/v1/tools/nope/approve", { ...operator, body })).status).toBe(404);
});

/** Two API tokens of one agent, each for its own user: neither reads anything of the other, on any route. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { type HttpFixture, httpFixture } from "../fakes/http-fixture.ts";
import { cheap, goodPassword, holder } from "../fakes/people.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

interface Users extends AsyncDisposable {
  readonly h: RuntimeFixture;
  ask(user: "ann" | "bob", path: string, body?: unknown): Promise<{ readonly status: number; readonly body: Answer }>;
  operator: HttpFixture["ask"];
}
type Answer = Readonly<Record<string, never>>;

async function users(): Promise<Users> {
  const folder = mkdtempSync(join(tmpdir(), "postern-users-"));
  folders.push(folder);
  const h = await runtimeFixture({
    accounts: { passwordCost: cheap },
    archive: { folder },
    chains: { drivers: [fakeDriver()], engines: ["fake"] },
  });
  const { accounts } = h.runtime;
  const root = await accounts.add({ name: "root", roles: ["admin", "operator"], password: goodPassword }, holder);
  const tokenOf = async (user: string) =>
    (await accounts.makeToken({ name: user, kind: "agent", agent: "bot", user }, root, holder)).text;
  const tokens = { ann: await tokenOf("ann"), bob: await tokenOf("bob") };
  const http = await httpFixture(h.runtime, { accounts, clock: h.clock });
  return {
    h,
    ask: async (user, path, body) => {
      const answered = await http.ask(path, { body, headers: { authorization: `Bearer ${tokens[user]}` } });
      return { status: answered.status, body: (await answered.json()) as Answer }; // every answer is an object
    },
    operator: (path, ask) => http.ask(path, { as: "operator", ...ask }),
    [Symbol.asyncDispose]: async () => {
      await http[Symbol.asyncDispose]();
      await h[Symbol.asyncDispose]();
    },
  };
}

const code = 'await call("mail", { to: "m" }); return "the secret of ann";';

it("calls, requests, scripts and runs of one user do not exist for another user of the agent", async () => {
  await using at = await users();
  const { body: called } = await at.ask("ann", "/v1/calls", { tool: "echo", arguments: { to: "x" }, run_id: "anns" });
  const { body: held } = await at.ask("ann", "/v1/calls", { tool: "mail", arguments: { to: "x" }, run_id: "anns" });
  const { body: script } = await at.ask("ann", "/v1/calls", { tool: "tool_chain", arguments: { code } });
  const approval = `/v1/approvals/${String(held["approval_id"])}`;
  const lists: readonly (readonly [path: string, member: string, anns: number])[] = [
    ["/v1/calls", "calls", 4],
    ["/v1/approvals", "approvals", 2],
    ["/v1/approvals?state=pending&mine=true", "approvals", 0],
    ["/v1/chains", "chains", 1],
    ["/v1/runs", "runs", 2],
    ["/v1/runs?agent=bot", "runs", 2],
  ];
  for (const [path, member, anns] of lists)
    expect([path, await sizes(at, path, member)]).toEqual([path, { ann: anns, bob: 0 }]);
  expect((await at.ask("bob", "/v1/approvals?state=pending")).body).toMatchObject({ waiting: { high: 0 } });
  const closed: readonly (readonly [path: string, body?: object])[] = [
    [`/v1/calls/${String(called["call_id"])}`],
    [approval],
    [`${approval}/withdraw`, {}],
    [`${approval}/resume`, {}],
    [`/v1/chains/${String(script["call_id"])}/resume`, {}],
    ["/v1/runs/anns"],
    ["/v1/runs/anns/events"],
    ["/v1/runs/anns/timeline"],
    ["/v1/runs/anns/describe", { task: "mine" }],
  ];
  for (const [path, body] of closed) {
    expect([path, (await at.ask("bob", path, body)).status]).toEqual([path, 404]);
    if (!path.endsWith("/withdraw"))
      expect([path, (await at.ask("ann", path, body)).status < 300]).toEqual([path, true]);
  }
});

async function sizes(at: Users, path: string, member: string): Promise<Readonly<Record<"ann" | "bob", number>>> {
  const size = async (user: "ann" | "bob"): Promise<number> => {
    const list: readonly unknown[] = (await at.ask(user, path)).body[member] ?? [];
    return list.length;
  };
  return { ann: await size("ann"), bob: await size("bob") };
}

it("another user of the agent cannot resume an approved script, nor read its answer", async () => {
  await using at = await users();
  const { body: script } = await at.ask("ann", "/v1/calls", { tool: "tool_chain", arguments: { code } });
  await at.operator(`/v1/approvals/${String(script["approval_id"])}/approve`, { body: {} });
  const resume = `/v1/chains/${String(script["call_id"])}/resume`;
  expect((await at.ask("bob", resume, {})).status).toBe(404);
  expect(at.h.ran).toEqual([]);
  expect(await at.ask("ann", resume, {})).toMatchObject({
    status: 200,
    body: { structured: { output_text: "the secret of ann" } },
  });
});

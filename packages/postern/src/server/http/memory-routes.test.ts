import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { newStore } from "../../../../../test/fakes/story-store.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { type OpenMemory, openMemory } from "../../builtin/memory/open-memory.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../index.ts";
import { openRunFolders } from "../../observe/runs/folders.ts";

const program = join(
  import.meta.dirname,
  "../../../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js",
);
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-memory-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Office extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly http: HttpFixture;
  readonly clock: FakeClock;
  readonly memory: OpenMemory;
}

/** A Postern whose agents propose memories: kept in its own file, or by a real server whose tools need a person. */
async function office(
  provider: "embedded" | { readonly server: string },
  options: RuntimeOptions = {},
): Promise<Office> {
  const clock = new FakeClock();
  const memory = await openMemory(
    { provider, writeMode: "candidate", scopes: ["agent", "team"] },
    {
      folder,
      runs: openRunFolders(join(folder, "runs")),
      clock,
      openArtifact: (digest, by) => runtime.artifacts.open(digest, by),
    },
  );
  const notes = { command: process.execPath, args: [program], env: { MEMORY_FILE_PATH: join(folder, "graph.jsonl") } };
  const runtime: Runtime = await createRuntime({
    store: newStore("memory"),
    tools: memory.tools,
    servers: provider === "embedded" ? {} : { notes },
    clock,
    autonomy: "A2",
    approvals: { patience: "suspend" },
    ...options,
  });
  const http = await httpFixture(runtime, { memory: memory.candidates });
  const dispose = async (): Promise<void> => {
    await http[Symbol.asyncDispose]();
    await runtime.close();
    memory.close();
  };
  return { runtime, http, clock, memory, [Symbol.asyncDispose]: dispose };
}

type Body = Record<string, unknown> & { readonly candidates?: readonly Record<string, unknown>[] };

async function ask(http: HttpFixture, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const response = await http.ask(path, { as: "operator", ...(body !== undefined && { body }) });
  return { status: response.status, body: (await response.json()) as Body };
}

async function propose(http: HttpFixture, content: string, run: string, more: object = {}): Promise<string> {
  const call = { tool: "write_memory", arguments: { content, ...more }, run_id: run };
  const response = await http.ask("/v1/calls", { as: "agent", body: call });
  return ((await response.json()) as { structured: { candidate_id: string } }).structured.candidate_id;
}

async function recalled(http: HttpFixture, query: string): Promise<readonly string[]> {
  const call = { tool: "recall_memory", arguments: { query } };
  const response = await http.ask("/v1/calls", { as: "agent", body: call });
  const { structured } = (await response.json()) as { structured: { memories: { content: string }[] } };
  return structured.memories.map(({ content }) => content);
}

const candidates = "/v1/memory/candidates";

it("makes no folder for a run that does not exist", async () => {
  await using at = await office("embedded", { archive: { folder: join(folder, "runs") } });
  const looks = [
    ...[`${candidates}?run_id=never`, "/v1/tools?run_id=never", "/v1/calls?run_id=never", "/v1/chains?run_id=never"],
    ...["/v1/approvals?run_id=never", "/v1/runs/never", "/v1/runs/never/timeline", "/v1/runs/never/events"],
    ...["/v1/runs/never/files", "/v1/runs/never/changes", "/v1/skills?run_id=never", "/v1/audit/latest?run_id=never"],
  ];
  for (const path of looks) expect((await ask(at.http, path)).status, path).toBeLessThan(500);
  for (const verb of ["accept", "reject"])
    expect((await ask(at.http, `${candidates}/mem_x/${verb}`, { run_id: "never" })).status).toBe(404);
  expect(readdirSync(join(folder, "runs")).filter((name) => !name.startsWith("."))).toEqual([]);
});

it("lists what agents proposed in every run, new to old, and in one", async () => {
  await using at = await office("embedded");
  const { http } = at;
  const first = await propose(http, "tea at five", "run_1", { tags: ["tea"] });
  const second = await propose(http, "coffee at six", "run_2");
  const all = await ask(http, candidates);
  expect(all.body.candidates?.map(({ candidate_id, run_id }) => [candidate_id, run_id])).toEqual([
    [second, "run_2"],
    [first, "run_1"],
  ]);
  const one = await ask(http, `${candidates}?run_id=run_1`);
  expect(one.body.candidates).toEqual([
    expect.objectContaining({
      candidate_id: first,
      state: "open",
      agent: "local-agent",
      scope: "agent",
      content: "tea at five",
      tags: ["tea"],
    }),
  ]);
  expect((await ask(http, `${candidates}?limit=1`)).body.candidates).toHaveLength(1);
  expect((await ask(http, `${candidates}?state=accepted`)).body.candidates).toEqual([]);
  expect((await ask(http, `${candidates}?run_id=../x`)).status).toBe(422);
});

it("remembers what was accepted, and nothing else, and keeps the decisions in the audit log", async () => {
  await using at = await office("embedded");
  const { http, runtime } = at;
  const yes = await propose(http, "tea at five", "run_1");
  const no = await propose(http, "tea at nine", "run_1");
  await propose(http, "tea at ten", "run_1");
  expect(await recalled(http, "tea")).toEqual([]);
  const accepted = await ask(http, `${candidates}/${yes}/accept`, { reason: "seen it" });
  expect(accepted).toMatchObject({
    status: 200,
    body: { state: "accepted", decided_by: "operator", reason: "seen it" },
  });
  expect(await ask(http, `${candidates}/${no}/reject`, { run_id: "run_1" })).toMatchObject({
    status: 200,
    body: { state: "rejected" },
  });
  expect(await recalled(http, "tea")).toEqual(["tea at five"]);
  expect(await ask(http, `${candidates}/${yes}/accept`, {})).toMatchObject({
    status: 409,
    body: { error: { code: "candidate_decided" }, candidate: { state: "accepted" } },
  });
  expect(await ask(http, `${candidates}/mem_0/accept`, {})).toMatchObject({
    status: 404,
    body: { error: { code: "candidate_unknown" } },
  });
  const events = await runtime.audit.query({ limit: 1_000 });
  expect(events.map(({ type }) => type).filter((type) => type.startsWith("operator."))).toEqual([
    "operator.memory_accepted",
    "operator.memory_rejected",
  ]);
  const acts = events.filter(({ type }) => type.startsWith("operator."));
  for (const act of acts) expect(act).toMatchObject({ decided_by: "operator", decided_via: "token:operator" });
});

it("writes to a memory server through the gates: a person sees its own call, and it runs once", async () => {
  await using at = await office({ server: "notes" });
  const { http, runtime } = at;
  const id = await propose(http, "tea at five", "run_1");
  const waiting = await ask(http, `${candidates}/${id}/accept`, {});
  expect(waiting).toMatchObject({ status: 202, body: { state: "waiting" } });
  const approval = String(waiting.body["approval_id"]);
  expect(await ask(http, `/v1/approvals/${approval}`)).toMatchObject({
    body: { what: { tool: "notes__create_entities" } },
  });
  expect(await ask(http, `${candidates}/${id}/accept`, {})).toMatchObject({
    status: 202,
    body: { approval_id: approval },
  });
  expect((await ask(http, `/v1/approvals/${approval}/approve`, {})).status).toBe(200);
  expect(await ask(http, `${candidates}/${id}/accept`, {})).toMatchObject({
    status: 200,
    body: { state: "accepted" },
  });
  expect((await runtime.calls.list({ tool: "notes__create_entities" })).map(({ state }) => state)).toEqual(["ok"]);
});

it("stays open when the server's call was denied, and asks again when that expired", async () => {
  await using at = await office({ server: "notes" });
  const { http, runtime, clock } = at;
  const id = await propose(http, "tea at five", "run_1");
  const first = (await ask(http, `${candidates}/${id}/accept`, {})).body["approval_id"];
  await ask(http, `/v1/approvals/${String(first)}/deny`, {});
  for (let n = 0; n < 2; n += 1)
    expect(await ask(http, `${candidates}/${id}/accept`, {})).toMatchObject({
      status: 502,
      body: { error: { code: "memory_failed" }, candidate: { state: "open" } },
    });
  await clock.advance(3_600_000);
  const again = await ask(http, `${candidates}/${id}/accept`, {});
  expect(again.status).toBe(202);
  expect(again.body["approval_id"]).not.toBe(first);
  expect(await runtime.calls.list({ tool: "notes__create_entities", state: "ok" })).toEqual([]);
});

it("reports that a memory server's own tools bypass the decision, until agents are denied them", async () => {
  const agent = { tenant: "default", agent: "local-agent" };
  {
    await using at = await office({ server: "notes" });
    const received = at.memory.warningFor(at.runtime.offered(agent));
    expect(received).toContain("agents may call `notes__add_observations`, `notes__create_entities`, ");
  }
  const rules = [{ effect: "deny", tool: "notes__*", principal: { agent: "local-agent" } }] as const;
  await using at = await office({ server: "notes" }, { policy: { rules } });
  const { http, runtime, memory } = at;
  expect(memory.warningFor(runtime.offered(agent))).toBeUndefined();
  const id = await propose(http, "tea at five", "run_1");
  expect(await ask(http, `${candidates}/${id}/accept`, {})).toMatchObject({ status: 202 });
});

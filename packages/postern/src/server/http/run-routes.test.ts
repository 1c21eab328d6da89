import { expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { runsFolder } from "../../../../../test/fakes/run-folder.ts";
import { type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";

const own = { principal: { tenant: "default", agent: "local-agent" }, runId: "own" };
const others = { principal: { tenant: "default", agent: "other" }, runId: "others" };
const foreign = { principal: { tenant: "acme", agent: "local-agent" }, runId: "foreign" };

async function served(): Promise<{ h: RuntimeFixture; http: HttpFixture } & AsyncDisposable> {
  const h = await runtimeFixture({ archive: { folder: runsFolder() } });
  for (const context of [own, others, foreign])
    await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, context);
  const http = await httpFixture(h.runtime);
  return {
    h,
    http,
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
      await h.runtime.close();
    },
  };
}

async function listed(http: HttpFixture, as: "agent" | "operator", query = ""): Promise<readonly unknown[]> {
  const { runs } = (await bodyOf(await http.ask(`/v1/runs${query}`, { as }))) as { runs: { run_id: string }[] };
  return runs.map(({ run_id }) => run_id).sort();
}

it("lists to an agent its own runs, to an operator all of its tenant", async () => {
  await using s = await served();
  expect(await listed(s.http, "agent")).toEqual(["own"]);
  expect(await listed(s.http, "agent", "?agent=other")).toEqual([]);
  expect(await listed(s.http, "operator")).toEqual(["others", "own"]);
  expect(await listed(s.http, "operator", "?agent=other")).toEqual(["others"]);
  expect(await listed(s.http, "operator", "?limit=1")).toHaveLength(1);
});

it("turns the pages of runs: each once, also when one goes on meanwhile, and names a cursor that is none", async () => {
  const folder = runsFolder();
  const ran = ["one", "two", "three", "four", "five"];
  {
    const before = await runtimeFixture({ archive: { folder } });
    for (const runId of ran.slice(0, 3))
      await before.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { ...own, runId });
    await before.runtime.close();
  }
  const h = await runtimeFixture({ archive: { folder } });
  for (const runId of ran.slice(3)) await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { ...own, runId });
  await using http = await httpFixture(h.runtime);
  const page = async (after = ""): Promise<{ readonly ids: readonly string[]; readonly next: string | undefined }> => {
    const { runs, next_after: next } = (await bodyOf(
      await http.ask(`/v1/runs?limit=2${after}`, { as: "operator" }),
    )) as {
      readonly runs: readonly { readonly run_id: string }[];
      readonly next_after?: string;
    };
    return { ids: runs.map(({ run_id }) => run_id), next };
  };
  const first = await page();
  expect([...first.ids].sort()).toEqual(["five", "four"]);
  const second = await page(`&after=${first.next}`);
  await h.runtime.invoke({ tool: "echo", arguments: { to: "b" } }, { ...own, runId: second.ids[0] ?? "" });
  const third = await page(`&after=${second.next}`);
  expect([...first.ids, ...second.ids, ...third.ids].sort()).toEqual([...ran].sort());
  expect(third.next).toBeUndefined();
  for (const wrong of ["five", "open@1@five", "live@x@five", "stored@1@../x"]) {
    const refused = await http.ask(`/v1/runs?after=${encodeURIComponent(wrong)}`, { as: "operator" });
    expect(refused.status, wrong).toBe(422);
  }
  await h.runtime.close();
});

it.each(["", "/events"])("answers the same for a run%s that is not there and one that is not yours", async (part) => {
  await using s = await served();
  const ask = async (id: string, as: "agent" | "operator"): Promise<string> => {
    const answered = await s.http.ask(`/v1/runs/${id}${part}`, { as });
    return `${answered.status} ${((await bodyOf(answered))["error"] as { code?: string } | undefined)?.code ?? "ok"}`;
  };
  expect(await ask("own", "agent")).toBe("200 ok");
  expect(await ask("others", "operator")).toBe("200 ok");
  for (const id of ["others", "foreign", "nope", "..%2Fown", "x".repeat(65), "own~own", "acme~foreign"]) {
    expect(await ask(id, "agent"), id).toBe("404 run_unknown");
  }
  expect(await ask("foreign", "operator")).toBe("404 run_unknown");
});

it("pages through events by sequence, and picks types", async () => {
  await using s = await served();
  const first = await bodyOf(await s.http.ask("/v1/runs/own/events?limit=2", { as: "agent" }));
  expect(first).toMatchObject({ events: [{ sequence: 1 }, { sequence: 2 }], next_after: 2 });
  const rest = await bodyOf(await s.http.ask("/v1/runs/own/events?limit=5&after=2", { as: "agent" }));
  expect(rest).toMatchObject({ events: [{ type: "tool.started" }, { type: "tool.completed" }] });
  expect(rest).not.toHaveProperty("next_after");
  const some = await bodyOf(await s.http.ask("/v1/runs/own/events?type=run.", { as: "agent" }));
  expect(some).toMatchObject({ events: [{ type: "run.created" }, { type: "run.started" }] });
  for (const query of ["?after=-1", "?limit=0", "?limit=5&limit=6", "?colour=red"])
    expect((await s.http.ask(`/v1/runs/own/events${query}`, { as: "agent" })).status).toBe(422);
});

it("says that runs are off where they are", async () => {
  await using h = await runtimeFixture();
  await using http = await httpFixture(h.runtime);
  for (const path of ["/v1/runs", "/v1/runs/own", "/v1/runs/own/events"]) {
    const answered = await http.ask(path, { as: "operator" });
    expect(answered.status).toBe(501);
    expect(await bodyOf(answered)).toMatchObject({ error: { code: "runs_off" } });
  }
});

it("lets an agent begin, describe and finish runs of its own, and no other", async () => {
  await using s = await served();
  const say = async (id: string, verb: string, body: object, as: "agent" | "operator" = "agent") => {
    const answered = await s.http.ask(`/v1/runs/${id}/${verb}`, { as, method: "POST", body });
    return { status: answered.status, ...(await bodyOf(answered)) };
  };
  const about = { task: "Quarterly report", prompt: "Write it.", deliverables: ["report.md"] };
  expect(await say("new", "begin", about)).toMatchObject({
    status: 200,
    state: "started",
    principal: { agent: "local-agent" },
    deliverables: { expected: ["report.md"] },
  });
  const theirs = await s.h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { ...others, runId: "new" });
  expect(theirs.refusal?.code).toBe("run_foreign"); // begun is owned, before any call
  expect(await say("new", "finish", {})).toMatchObject({ state: "completed", governance: { result: "incomplete" } });
  expect(await say("own", "finish", { state: "failed", reason: "gave up" })).toMatchObject({
    state: "failed",
    governance: { result: "failed" },
  });
  for (const verb of ["begin", "describe", "finish"]) {
    for (const id of ["others", "..%2Fown", "x".repeat(65)])
      expect(await say(id, verb, {}), id).toMatchObject({ status: 404 });
    expect(await say("others", verb, {}, "operator")).toMatchObject({ status: 200 });
  }
  expect(await say("nope", "describe", {})).toMatchObject({ status: 404 });
  expect(await say("own", "begin", { deliverables: ["../out"] })).toMatchObject({
    status: 422,
    error: { code: "request_invalid", message: expect.stringContaining("../out") },
  });
  expect(await say("own", "begin", { colour: "red" })).toMatchObject({ status: 422 });
});

it("refuses to begin a run whose owner is known to the ledger alone", async () => {
  await using h = await runtimeFixture({ archive: { folder: runsFolder() } });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, others);
  await using http = await httpFixture(h.runtime);
  const runs = h.runtime.runs;
  await expect(runs?.begin({ runId: "others" }, { principal: own.principal })).rejects.toMatchObject({
    code: "run_foreign",
  });
  const answered = await http.ask("/v1/runs/others/begin", { as: "agent", method: "POST", body: {} });
  expect(answered.status).toBe(404);
});

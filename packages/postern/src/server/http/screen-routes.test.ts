import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { fakePolicyInForce } from "../../../../../test/fakes/policy-in-force.ts";
import { runsFolder } from "../../../../../test/fakes/run-folder.ts";
import { boss, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { verifyInclusion } from "../../audit/proofs.ts";
import { openPolicyFile } from "../../config/policy-file.ts";
import { readPolicyText } from "../../config/policy-text.ts";
import type { LocalTool, RuntimeOptions } from "../../index.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const principal = { tenant: "default", agent: "local-agent" };
const inRun = (runId: string, more: object = {}) => ({ principal, runId, ...more });

async function served(
  options: RuntimeOptions = {},
  serverOptions: Parameters<typeof httpFixture>[1] = {},
): Promise<{ h: RuntimeFixture; http: HttpFixture }> {
  const h = await runtimeFixture(options);
  const http = await httpFixture(h.runtime, serverOptions);
  cleanups.push(
    () => h.runtime.close(),
    () => http[Symbol.asyncDispose](),
  );
  return { h, http };
}

interface Timeline {
  readonly calls: readonly { readonly tool: string; readonly state: string; readonly [more: string]: unknown }[];
  readonly next_before?: string;
}

const timeline = async (http: HttpFixture, path: string, as: "agent" | "operator" = "operator"): Promise<Timeline> =>
  (await bodyOf(await http.ask(`/v1/runs/${path}`, { as }))) as unknown as Timeline;

describe("the timeline of a run", () => {
  it("tells waiting for a person apart from executing", async () => {
    const { h, http } = await served({ autonomy: "A2", approvals: { patience: "suspend" } });
    const asked = await h.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, inRun("r1"));
    await h.clock.advance(60_000);
    await h.runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: { user: "ann" } });
    await h.clock.advance(5_000);
    await h.runtime.resume(asked.approvalId ?? "");
    const { calls } = await timeline(http, "r1/timeline");
    expect(calls).toHaveLength(1);
    const [call] = calls as unknown as [
      Record<"arrived_at" | "started_at" | "ended_at", string> & {
        approval: Record<"asked_at" | "decided_at", string>;
      },
    ];
    expect(call).toMatchObject({
      state: "ok",
      approval: { decided_as: "approved", decided_by: "ann", status: "used" },
    });
    expect(Date.parse(call.approval.decided_at) - Date.parse(call.approval.asked_at)).toBe(60_000);
    expect(Date.parse(call.started_at) - Date.parse(call.approval.decided_at)).toBe(5_000);
  });

  it("pages from new to old, and holds nothing of another run", async () => {
    const { h, http } = await served();
    for (const to of ["1", "2", "3"]) await h.runtime.invoke({ tool: "echo", arguments: { to } }, inRun("r1"));
    await h.runtime.invoke({ tool: "echo", arguments: { to: "4" } }, inRun("r2"));
    const first = await timeline(http, "r1/timeline?limit=2");
    expect(first.calls).toHaveLength(2);
    const rest = await timeline(http, `r1/timeline?limit=2&before=${first.next_before}`);
    expect(rest.calls).toHaveLength(1);
    expect(rest).not.toHaveProperty("next_before");
    expect(new Set([...first.calls, ...rest.calls].map((call) => call["call_id"])).size).toBe(3);
  });

  it("has arrivals that were turned away, where folders of runs are kept", async () => {
    const { h, http } = await served({
      archive: { folder: runsFolder() },
      policy: { rules: [{ effect: "deny", tool: "mail", id: "no-mail" }] },
    });
    await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, inRun("r1"));
    await h.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, inRun("r1"));
    await h.runtime.runs?.flush();
    const { calls } = await timeline(http, "r1/timeline");
    expect(calls).toMatchObject([
      { tool: "mail", state: "refused", code: "permission_denied" },
      { tool: "echo", state: "ok" },
    ]);
  });

  it("shows an agent its own calls only, and answers for a run that is not its own as for one that is not there", async () => {
    const { h, http } = await served({ archive: { folder: runsFolder() } });
    const other = { principal: { tenant: "default", agent: "other" }, runId: "theirs" };
    await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, other);
    await h.runtime.invoke({ tool: "nope", arguments: {} }, other);
    await h.runtime.runs?.flush();
    expect((await timeline(http, "theirs/timeline")).calls).toHaveLength(2);
    for (const run of ["theirs", "nobodys", "..%2Fx"])
      expect((await http.ask(`/v1/runs/${run}/timeline`, { as: "agent" })).status, run).toBe(404);
    expect((await http.ask("/v1/runs/nobodys/timeline", { as: "operator" })).status).toBe(404);
  });

  it("has an end, which is no run that is not there, also where no folders are kept", async () => {
    const { h, http } = await served();
    const { callId: first } = await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, inRun("r1"));
    expect(await timeline(http, `r1/timeline?before=${first}`)).toEqual({ run_id: "r1", calls: [] });
    expect((await http.ask(`/v1/runs/r2/timeline?before=${first}`, { as: "operator" })).status).toBe(404);
  });
});

describe("how tools do, over HTTP", () => {
  it("counts calls, failures and refusals by tool and by minute, for people only", async () => {
    const { h, http } = await served({ policy: { rules: [{ effect: "deny", tool: "drop" }] } });
    for (const tool of ["echo", "echo", "drop"]) await h.runtime.invoke({ tool, arguments: { to: "a" } }, inRun("r1"));
    expect(await bodyOf(await http.ask("/v1/statistics", { as: "operator" }))).toMatchObject({
      tools: [
        { tool: "drop", calls: 0, refused: 1 },
        { tool: "echo", action: "default", calls: 2, errors: 0, p50_ms: expect.any(Number) },
      ],
      minutes: [{ ok: 2, refused: 1 }],
    });
    expect((await http.ask("/v1/statistics", { as: "agent" })).status).toBe(403);
  });
});

describe("what mode observe let pass, over HTTP", () => {
  it("is counted from the log by server and tool, within a range", async () => {
    const { h, http } = await served({ autonomy: "A2" });
    const echo = (name: string): LocalTool => ({
      name,
      description: "Echo.",
      risk: "high",
      idempotent: true,
      execute: () => "ok",
    });
    h.runtime.tools.register(echo("post__send"), { server: "post", observe: true });
    h.runtime.tools.register(echo("post__list"), { server: "post", observe: true, risk: "safe" });
    for (const tool of ["post__send", "post__send", "post__list", "echo"])
      await h.runtime.invoke({ tool, arguments: tool === "echo" ? { to: "a" } : {} }, inRun("r1"));
    const observed = async (query: string) => bodyOf(await http.ask(`/v1/audit/observed${query}`, { as: "operator" }));
    expect(await observed("?since=0")).toMatchObject({
      ...{ calls: 3, asked: 2, denied: 0, blocked: 0, previewed: 0 },
      tools: [
        { server: "post", tool: "post__send", calls: 2, asked: 2 },
        { server: "post", tool: "post__list", calls: 1, asked: 0 },
      ],
    });
    expect(await observed("?since=0&tool=post__list")).toMatchObject({ calls: 1, asked: 0 });
    expect(await observed("?since=0&server=other")).toMatchObject({ calls: 0, tools: [] });
    expect(await observed(`?since=0&until=${h.clock.now() - 1}`)).toMatchObject({ calls: 0 });
  });
});

describe("the end of the audit log, over HTTP", () => {
  it("comes new to old, filtered, and says where to go on", async () => {
    const { h, http } = await served();
    for (const to of ["1", "2"]) await h.runtime.invoke({ tool: "echo", arguments: { to } }, inRun("r1"));
    const latest = async (query: string) => bodyOf(await http.ask(`/v1/audit/latest${query}`, { as: "operator" }));
    const { events, next_before, size } = (await latest("?limit=1&tool=echo")) as {
      events: readonly { seq: number }[];
      next_before: number;
      size: number;
    };
    expect(events[0]?.seq).toBe(size - 1);
    expect(next_before).toBe(size - 1);
    expect(await latest("?type=tool_call.attempted&run_id=r1&agent=local-agent")).toMatchObject({
      events: [{ type: "tool_call.attempted" }, { type: "tool_call.attempted" }],
    });
    expect(await latest("?agent=nobody")).toEqual({ events: [], size });
    for (const query of ["?limit=0", "?limit=1001", "?before=-1", "?colour=red", "?trace_id=x"])
      expect((await http.ask(`/v1/audit/latest${query}`, { as: "operator" })).status, query).toBe(422);
  });

  it("gives the events of all arrivals of a recorded call, by whichever name it is asked for", async () => {
    const { h, http } = await served();
    const keyed = { ...inRun("r1"), idempotencyKey: "once" };
    const send = { tool: "mail", arguments: { to: "1" } };
    const { callId, approvalId = "" } = await h.runtime.invoke(send, keyed);
    await h.runtime.invoke({ tool: "echo", arguments: { to: "another" } }, inRun("r1"));
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.invoke(send, keyed);
    await h.runtime.invoke(send, keyed);
    const { calls } = (await bodyOf(await http.ask("/v1/runs/r1/timeline", { as: "operator" }))) as unknown as {
      readonly calls: readonly { readonly call_id: string; readonly key: string; readonly tool: string }[];
    };
    const shown = calls.find(({ tool }) => tool === "mail");
    expect([shown?.call_id, shown?.key === shown?.call_id]).toEqual([callId, false]);
    const types = ["gate.required", "gate.approved", "tool_call.attempted", "tool_call.succeeded", "tool_call.deduped"];
    for (const name of [shown?.key ?? "", callId])
      for (const path of ["/v1/audit/latest", "/v1/audit"]) {
        const { events } = (await bodyOf(await http.ask(`${path}?call_id=${name}`, { as: "operator" }))) as unknown as {
          readonly events: readonly { readonly type: string; readonly seq: number }[];
        };
        const inOrder = [...events].sort((one, other) => one.seq - other.seq);
        expect(
          inOrder.map(({ type }) => type),
          `${path} ${name}`,
        ).toEqual(types);
      }
  });

  it("proves of an event that it is in the log", async () => {
    const { h, http } = await served();
    await h.runtime.invoke({ tool: "echo", arguments: { to: "1" } }, inRun("r1"));
    const proof = (await bodyOf(await http.ask("/v1/audit/0/proof", { as: "operator" }))) as unknown as {
      readonly seq: number;
      readonly leaf: string;
      readonly path: readonly string[];
      readonly size: number;
      readonly root: string;
    };
    expect(verifyInclusion({ ...proof, index: proof.seq })).toBe(true);
    for (const seq of ["999999", "-1", "x", "1e3", "%20"])
      expect((await http.ask(`/v1/audit/${seq}/proof`, { as: "operator" })).status, seq).toBe(404);
  });
});

describe("the policy's text, over HTTP", () => {
  const before = "autonomy: A2\npolicy:\n  rules: []\n";
  const changed = "policy:\n  rules:\n    - { effect: deny, tool: mail }\n";

  async function withFile(mayEdit = true) {
    const folder = await mkdtemp(join(tmpdir(), "postern-edit-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    const path = join(folder, "postern.yaml");
    await writeFile(path, before);
    const file = openPolicyFile({
      file: path,
      mayEdit,
      clock: new FakeClock(),
      redact: (text) => text,
      ...fakePolicyInForce(),
    });
    const policies = {
      policy: (text: { name: string; text: string }) => readPolicyText(text, folder),
      tests: async () => [],
      file,
    };
    return { path, ...(await served({}, { policies })) };
  }
  const read = async (http: HttpFixture) =>
    (await bodyOf(await http.ask("/v1/policy/text", { as: "operator" }))) as {
      digest: string;
      editable: boolean;
      line: number;
    };

  it("is read, saved with the permission, and recorded in the audit log with before and after", async () => {
    const { path, h, http } = await withFile();
    const { digest, editable, line } = await read(http);
    expect([editable, line]).toEqual([true, 2]);
    const body = { text: changed, expected_digest: digest, reason: "no mails" };
    expect((await http.ask("/v1/policy/save", { as: "agent", body })).status).toBe(403);
    const saved = await http.ask("/v1/policy/save", { as: "operator", body });
    expect(saved.status).toBe(200);
    expect(await readFile(path, "utf8")).toBe(`autonomy: A2\n${changed}`);
    const after = await read(http);
    const [event] = await h.runtime.audit.query({ type: "operator.action.policy_saved" });
    expect(event).toMatchObject({
      decided_by: "operator",
      decided_via: "token:operator",
      data: { before: digest, after: after.digest, reason: "no mails" },
    });
    expect((await http.ask("/v1/policy/save", { as: "operator", body })).status).toBe(409);
  });

  it("is refused with its mistakes, and where saving is off", async () => {
    const { http } = await withFile();
    const { digest } = await read(http);
    const wrong = await http.ask("/v1/policy/save", {
      as: "operator",
      body: { text: "policy:\n  ruls: []", expected_digest: digest },
    });
    expect(wrong.status).toBe(422);
    expect(await bodyOf(wrong)).toMatchObject({
      error: { code: "policy_refused", message: expect.stringContaining("postern.yaml:3:3 policy.ruls") },
    });
    const closed = await withFile(false);
    expect(await read(closed.http)).toMatchObject({ editable: false, why_not: expect.stringContaining("edit_policy") });
    const refused = await closed.http.ask("/v1/policy/save", {
      as: "operator",
      body: { text: changed, expected_digest: digest },
    });
    expect(refused.status).toBe(403);
    expect(await readFile(closed.path, "utf8")).toBe(before);
  });

  it("says so where there is no file", async () => {
    const { http } = await served();
    expect((await http.ask("/v1/policy/text", { as: "operator" })).status).toBe(501);
  });
});

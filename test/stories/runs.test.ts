import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { differences } from "../fakes/projected-again.ts";
import { base, openRunArchive, safe, type Tool } from "../fakes/run-archive.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { boss, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { storeIn } from "../fakes/story-store.ts";

it("a run keeps what a call did: its events, its line, its files", async () => {
  await using h = await runtimeFixture({ archive: { folder: runsFolder(), config: "autonomy: A2\n" } });
  const { runtime } = h;
  const { callId } = await runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { ...base, taskId: "task 7" });
  const events = await runtime.runs?.events({ runId: "run_1" });

  expect(events?.map(({ type }) => type)).toEqual([
    "run.created",
    "run.started",
    "config.loaded",
    "tool.started",
    "tool.completed",
  ]);
  expect(events?.at(-1)).toMatchObject({
    event_id: "evt_run_1_5",
    sequence: 5,
    run_id: "run_1",
    task_id: "task 7",
    actor: "a",
    severity: "info",
    correlation_id: callId,
    parent_event_id: "evt_run_1_4",
    data: { tool: "echo", status: "completed", audit: "tool_call.succeeded" },
  });
  expect(await runtime.runs?.calls({ runId: "run_1" })).toEqual([
    expect.objectContaining({
      ...{ call_id: callId, tool_name: "echo", action: "default", status: "completed" },
      args_summary: '{"to":"a"}',
      result_summary: expect.stringContaining("to a"),
      artifacts: [],
    }),
  ]);
});

it("has every file of a run, readable by its owner only", async () => {
  const folder = runsFolder();
  {
    await using h = await runtimeFixture({ archive: { folder, config: "autonomy: A2\n" } });
    await h.runtime.runs?.begin(
      { runId: "run_1" },
      { task: { goal: "sum" }, prompt: "Add them.", systemPrompt: "You add.", transcript: "# Said" },
    );
    await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
    await h.runtime.runs?.finish({ runId: "run_1" });
    await h.runtime.runs?.describe({ runId: "run_1" }, { transcript: "# More" });
  }
  const run = new RunFolder(folder, "run_1");
  expect(readdirSync(run.path).sort()).toEqual(
    [
      ...["archive", "artifact-manifest.json", "config.yaml", "deliverables", "effective-system-prompt.md"],
      ...["events.jsonl", "logs", "prompt.md", "run.json", "sandbox-manifest.json", "session.json", "task.yaml"],
      ...["transcript.md", "workspace"],
    ].sort(),
  );
  expect(readdirSync(run.file("logs")).sort()).toEqual(["errors.jsonl", "tools.jsonl"]);
  expect(run.text("transcript.md")).toBe("# Said\n# More\n");
  expect(run.text("prompt.md")).toBe("Add them.");
  expect(JSON.parse(run.text("task.yaml"))).toEqual({ goal: "sum" });
  expect(run.json("run.json")).toMatchObject({ run_id: "run_1", tenant: "default", state: "completed" });
  expect(run.json("session.json")).toMatchObject({ run_id: "run_1", sessions: [{ calls: 1 }] });
});

it("a refusal is a permission error with code, tool name and rule, and has its line in errors.jsonl (case 153)", async () => {
  const rule = { effect: "deny", tool: "echo", id: "no-echo", reason: "quiet" } as const;
  await using k = await openRunArchive([], { policy: { rules: [rule] } });
  const outcome = await k.h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  await k.h.runtime.runs?.flush();

  expect(outcome).toMatchObject({ status: "denied", refusal: { code: "permission_denied" } });
  expect(outcome.text).toContain("echo");
  expect(outcome.text).toContain("no-echo");
  expect(k.run.errors).toEqual([
    expect.objectContaining({
      ...{ call_id: outcome.callId, tool_name: "echo", status: "blocked", code: "permission_denied" },
      category: "governance",
      rules: [expect.stringContaining("no-echo")],
    }),
  ]);
});

it("the line of a 1 MB result has summary and artifact id only, under 4 kB (case 188)", async () => {
  const big: Tool = { ...safe, name: "big", description: "Big.", execute: () => `head ${"x".repeat(1_000_000)} TAIL` };
  await using k = await openRunArchive([big]);
  const { artifact } = await k.h.runtime.invoke({ tool: "big", arguments: { to: "y".repeat(500_000) } }, base);
  await k.h.runtime.runs?.flush();

  expect(artifact).toMatch(/^[0-9a-f]{64}$/);
  const [call] = k.run.calls;
  expect(call?.artifacts).toEqual([artifact]);
  expect(call?.result_summary).toContain("head");
  expect(JSON.stringify(call)).not.toContain("TAIL");
  expect(k.run.longest("logs/tools.jsonl")).toBeLessThan(4_096);
  expect(k.run.longest("events.jsonl")).toBeLessThan(4_096);
});

it("a refused call has status blocked with its reason, and no tool.started event (case 202)", async () => {
  await using k = await openRunArchive();
  for (const [tool, code] of [
    ["mail", "approval_unavailable"],
    ["nope", "tool_unknown"],
  ] as const) {
    const outcome = await k.h.runtime.invoke({ tool, arguments: { to: "a" } }, { ...base, patience: "deny" });
    expect(outcome.refusal?.code).toBe(code);
  }
  await k.h.runtime.runs?.flush();

  expect(k.run.calls.map(({ tool_name, status, error }) => [tool_name, status, error?.code])).toEqual([
    ["mail", "blocked", "approval_unavailable"],
    ["nope", "blocked", "tool_unknown"],
  ]);
  expect(k.run.calls[0]?.error?.message).toContain("needs a person's approval");
  expect(k.run.types).not.toContain("tool.started");
  expect(k.run.types.filter((type) => type === "tool.blocked")).toHaveLength(2);
});

it("an expired wait leaves its call waiting, neither blocked nor an error", async () => {
  await using k = await openRunArchive();
  const { runtime, clock } = k.h;
  const waiting = runtime.invoke(
    { tool: "mail", arguments: { to: "a" } },
    { ...base, patience: "wait", approvalWaitMs: 50 },
  );
  await clock.advance(51);
  expect((await waiting).refusal?.code).toBe("approval_timed_out");
  await runtime.runs?.flush();

  expect(k.run.calls.map(({ tool_name, status }) => [tool_name, status])).toEqual([["mail", "started"]]);
  expect(k.run.errors).toEqual([]);
  expect(k.run.types.filter((type) => type.startsWith("tool."))).toEqual(["tool.waiting", "tool.waiting"]);
  const run = await runtime.runs?.get({ runId: "run_1" });
  expect(run?.counts).toMatchObject({ blocked: 0, failed: 0, waiting: 1 });
  expect(await differences(runtime, k.run)).toEqual([]);
});

it("the sequence grows without gaps under parallel calls, in several sessions and from children (case 203)", async () => {
  const parent: Tool = {
    ...safe,
    name: "parent",
    description: "Calls another.",
    execute: async (_, context) => (await context.call({ tool: "echo", arguments: { to: "child" } })).text,
  };
  await using k = await openRunArchive([parent]);
  const sessions = [1, 2, 3, 4].map(() => k.h.runtime.openSession({}, base));
  const calls = Array.from({ length: 400 }, (_, i) =>
    sessions[i % 4]?.invoke({
      tool: i % 3 === 0 ? "parent" : i % 7 === 0 ? "nope" : "echo",
      arguments: { to: `${i}` },
    }),
  );
  await Promise.all(calls);
  await k.h.runtime.runs?.flush();

  expect(k.run.isGapless).toBe(true);
  expect(k.run.calls).toHaveLength(534);
  expect(k.run.types.filter((type) => type === "tool.completed")).toHaveLength(496);
  const starts = new Map(
    k.run.events.filter(({ type }) => type === "tool.started").map((event) => [event.event_id, event]),
  );
  const child = k.run.events.find(({ type, parent_event_id: id }) => type === "tool.started" && id !== undefined);
  expect(starts.get(child?.parent_event_id ?? "")?.data["tool"]).toBe("parent");
  expect(await differences(k.h.runtime, k.run)).toEqual([]);
});

it("continues the sequence after a restart, with its earlier state", async () => {
  const folder = runsFolder();
  const kept = storeIn(join(runsFolder(), "postern.db"));
  for (const to of ["one", "two", "three"]) {
    await using h = await runtimeFixture({ archive: { folder }, ...kept });
    await h.runtime.invoke({ tool: "echo", arguments: { to } }, base);
    await h.runtime.invoke({ tool: "mail", arguments: { to } }, base);
    expect(await differences(h.runtime, new RunFolder(folder, "run_1"))).toEqual([]);
  }
  const run = new RunFolder(folder, "run_1");
  expect(run.isGapless).toBe(true);
  expect(run.types.filter((type) => type === "run.created" || type === "run.started")).toHaveLength(2);
  expect(run.json("run.json")).toMatchObject({ state: "waiting", counts: { started: 3, completed: 3, waiting: 3 } });
});

it("records a tool's progress between its start and its end, redacted and bounded", async () => {
  const redactor = createRedactor();
  redactor.learn("hunter2hunter2");
  const reader: Tool = {
    ...safe,
    name: "reader",
    description: "Reads.",
    execute: (_, context) => {
      context.emit("file.read", "read `a.txt`", { path: "a.txt", head: "x".repeat(50_000) });
      context.emit("tool.completed", "not ours to say");
      context.emit("Odd Type!", "hunter2hunter2", { password: "hunter2hunter2" });
      return "read";
    },
  };
  await using k = await openRunArchive([reader], { redactor });
  await k.h.runtime.invoke({ tool: "reader", arguments: {} }, base);
  await k.h.runtime.runs?.flush();

  expect(k.run.types.slice(2)).toEqual([
    "tool.started",
    "file.read",
    "emitted.other",
    "emitted.other",
    "tool.completed",
  ]);
  const [, , started, read, ours] = k.run.events;
  expect(read).toMatchObject({
    summary: "read `a.txt`",
    parent_event_id: started?.event_id,
    data: { said: { cut: true } },
  });
  expect(ours?.data).toMatchObject({ as: "tool.completed" });
  expect(k.run.text("events.jsonl")).not.toContain("hunter2");
  expect(k.run.longest("events.jsonl")).toBeLessThan(4_096);
  expect(await differences(k.h.runtime, k.run)).toEqual([]);
});

it("keeps an operator's act that names the run", async () => {
  await using k = await openRunArchive();
  await k.h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  await k.h.runtime.note("operator.action.remark", "looks good", { by: "boss", data: { run_id: "run_1" } });
  await k.h.runtime.note("operator.action.remark", "of no run", { by: "boss" });
  await k.h.runtime.runs?.flush();
  expect(k.run.events.at(-1)).toMatchObject({ type: "operator.action.remark", actor: "boss", summary: "looks good" });
});

it("keeps the whole path of a call that a person was asked about", async () => {
  await using k = await openRunArchive();
  const { runtime } = k.h;
  const asked = await runtime.invoke({ tool: "mail", arguments: { to: "a" } }, base);
  await runtime.runs?.flush();
  expect(await runtime.runs?.get({ runId: "run_1" })).toMatchObject({ counts: { waiting: 1, started: 0 } });
  await runtime.approvals.decide(asked.approvalId ?? "", { decision: "approved", by: boss, reason: "fine" });
  await runtime.resume(asked.approvalId ?? "");
  await runtime.runs?.flush();

  expect(k.run.types.slice(2)).toEqual(["tool.waiting", "approval.approved", "tool.started", "tool.completed"]);
  expect(k.run.events[3]).toMatchObject({ actor: "boss", data: { approval_id: asked.approvalId, reason: "fine" } });
  expect(await runtime.runs?.get({ runId: "run_1" })).toMatchObject({
    counts: { waiting: 0, started: 1, completed: 1 },
  });
  expect(await differences(runtime, k.run)).toEqual([]);
});

it("records a previewed call as blocked with `preview_only`, from the call and from the audit log alike", async () => {
  const kept = storeIn(join(runsFolder(), "postern.db"));
  const said = [];
  const folders = [runsFolder(), runsFolder()];
  const atTheBeginning = JSON.stringify({ up_to: 0 }); // the second has only the log to go by
  writeFileSync(join(folders[1] ?? "", ".position.json"), atTheBeginning);
  for (const folder of folders) {
    await using h = await runtimeFixture({ archive: { folder }, ...kept, autonomy: "A0" });
    if (said.length === 0) await h.runtime.invoke({ tool: "mail", arguments: { to: "ann" } }, base);
    await h.runtime.runs?.flush();
    const run = new RunFolder(folder, "run_1");
    said.push([run.calls[0]?.status, run.calls[0]?.error?.code, run.errors[0]?.["code"], run.errors[0]?.["category"]]);
  }
  expect(said).toEqual([
    ["blocked", "preview_only", "preview_only", "governance"],
    ["blocked", "preview_only", "preview_only", "governance"],
  ]);
});

it("counts a call that ran once, however often it is sent, and separately those that ran nothing", async () => {
  const folder = runsFolder();
  const kept = storeIn(join(runsFolder(), "postern.db"));
  const counts = { started: 2, completed: 1, failed: 1, blocked: 1, waiting: 0, replayed: 3 };
  {
    await using h = await runtimeFixture({ archive: { folder }, ...kept });
    const wobbly: Tool = {
      ...safe,
      name: "wobbly",
      description: "Fails.",
      execute: () => Promise.reject(new Error("no")),
    };
    h.runtime.tools.register(wobbly);
    const send = (tool: string, key: string) =>
      h.runtime.invoke({ tool, arguments: { to: "ann" } }, { ...base, patience: "deny", idempotencyKey: key });
    for (const key of ["one", "one", "one", "one"]) await send("echo", key);
    await send("wobbly", "two");
    await send("nope", "three");
    await h.runtime.runs?.flush();
    expect(await h.runtime.runs?.get({ runId: "run_1" })).toMatchObject({ counts });
  }
  await using again = await runtimeFixture({ archive: { folder }, ...kept });
  expect(await again.runtime.runs?.get({ runId: "run_1" })).toMatchObject({ counts });
});

it("counts a waiting script once, and as a request only its waiting call", async () => {
  await using h = await runtimeFixture({
    archive: { folder: runsFolder() },
    chains: { drivers: [fakeDriver()], engines: ["fake"] },
  });
  const script = () => h.runtime.runChain({ code: 'return (await call("mail", { to: "a" })).text;' }, base);
  const counted = async () => {
    await h.runtime.runs?.flush();
    const { counts, governance } = (await h.runtime.runs?.get({ runId: "run_1" })) ?? {};
    return [counts, governance?.reasons.map(({ code }) => code)];
  };
  const { approvalId = "" } = await script();
  await script(); // nobody has decided: it is put away again
  expect(await counted()).toMatchObject([
    { started: 0, completed: 0, waiting: 1 },
    ["not_finished", "approval_pending"],
  ]);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  expect(await script()).toMatchObject({ status: "ok" });
  expect(await counted()).toMatchObject([{ started: 2, completed: 2, waiting: 0 }, ["not_finished"]]);
});

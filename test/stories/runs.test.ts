import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createRedactor } from "../../src/secrets/redactor.ts";
import { FakeClock } from "../fakes/clock.ts";
import { asker, boss, type House, house } from "../fakes/house.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";

type Tool = NonNullable<Parameters<typeof house>[1]>[number];

const base = { ...asker, runId: "run_1" } as const;
const safe = { risk: "safe", effects: "read", idempotent: true, input: { type: "object" } } as const;

interface Kept {
  readonly h: House;
  readonly run: RunFolder;
  readonly folder: string;
  readonly logged: string[];
}

async function kept(
  tools: readonly Tool[] = [],
  more: Parameters<typeof house>[0] = {},
): Promise<Kept & AsyncDisposable> {
  const folder = runsFolder();
  const logged: string[] = [];
  const h = await house({ archive: { folder }, log: (problem) => void logged.push(problem), ...more }, tools);
  const run = new RunFolder(folder, "run_1");
  return { h, run, folder, logged, [Symbol.asyncDispose]: () => h.runtime.close() };
}

it("keeps what a call did: its events, its line, its papers", async () => {
  await using h = await house({ archive: { folder: runsFolder(), config: "autonomy: A2\n" } });
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

it("has every file of a run, each of its owner alone", async () => {
  const folder = runsFolder();
  {
    await using h = await house({ archive: { folder, config: "autonomy: A2\n" } });
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

it("a refusal is seen by the caller as permission error with code, tool name and rule, and has its line in errors.jsonl (case 153)", async () => {
  const rule = { effect: "deny", tool: "echo", id: "no-echo", reason: "quiet" } as const;
  await using k = await kept([], { policy: { rules: [rule] } });
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
  await using k = await kept([big]);
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

it("a refused call has status blocked with its reason, and its events no tool.started (case 202)", async () => {
  await using k = await kept();
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

it("the sequence increases without gaps under parallel calls, in several sessions and from children (case 203)", async () => {
  const parent: Tool = {
    ...safe,
    name: "parent",
    description: "Calls another.",
    execute: async (_, context) => (await context.call({ tool: "echo", arguments: { to: "child" } })).text,
  };
  await using k = await kept([parent]);
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
  expect(await k.h.runtime.runs?.verify({ runId: "run_1" })).toMatchObject({ intact: true, problems: [] });
});

it("goes on with the sequence after a restart, and knows what it knew", async () => {
  const folder = runsFolder();
  const store = `sqlite:${join(runsFolder(), "postern.db")}`;
  for (const to of ["one", "two", "three"]) {
    await using h = await house({ archive: { folder }, store });
    await h.runtime.invoke({ tool: "echo", arguments: { to } }, base);
    await h.runtime.invoke({ tool: "mail", arguments: { to } }, base);
    expect(await h.runtime.runs?.verify({ runId: "run_1" })).toMatchObject({ intact: true });
  }
  const run = new RunFolder(folder, "run_1");
  expect(run.isGapless).toBe(true);
  expect(run.types.filter((type) => type === "run.created" || type === "run.started")).toHaveLength(2);
  expect(run.json("run.json")).toMatchObject({ state: "stopped", counts: { started: 3, completed: 3, waiting: 3 } });
});

it("tells what a tool says of itself between its start and its end, redacted and bounded", async () => {
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
  await using k = await kept([reader], { redactor });
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
  expect(await k.h.runtime.runs?.verify({ runId: "run_1" })).toMatchObject({ intact: true });
});

it("keeps an operator's act that names the run", async () => {
  await using k = await kept();
  await k.h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  await k.h.runtime.note("operator.action.remark", "looks good", { by: "boss", data: { run_id: "run_1" } });
  await k.h.runtime.note("operator.action.remark", "of no run", { by: "boss" });
  await k.h.runtime.runs?.flush();
  expect(k.run.events.at(-1)).toMatchObject({ type: "operator.action.remark", actor: "boss", summary: "looks good" });
});

it("keeps the whole way of a call that a person was asked about", async () => {
  await using k = await kept();
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
  expect(await runtime.runs?.verify({ runId: "run_1" })).toMatchObject({ intact: true, problems: [] });
});

it("keeps no secret, whatever holds it: arguments, results, errors, prompts, names", async () => {
  const redactor = createRedactor();
  const secret = "hunter2-hunter2-hunter2";
  redactor.learn(secret);
  const leaky: Tool = { ...safe, name: "leaky", description: "Leaks.", execute: () => `result ${secret}` };
  const failing: Tool = {
    ...safe,
    name: "failing",
    description: "Fails.",
    execute: () => {
      throw new Error(`no ${secret}`);
    },
  };
  await using k = await kept([leaky, failing], {
    redactor,
    archive: { folder: runsFolder(), config: `x: ${secret}\n` },
  });
  const { runtime } = k.h;
  await runtime.runs?.begin(
    { runId: "run_1" },
    { task: secret, prompt: secret, systemPrompt: secret, transcript: secret },
  );
  for (const tool of ["leaky", "failing", "echo", secret]) {
    await runtime.invoke({ tool, arguments: { to: `x${secret}y` } }, base);
  }
  await runtime.invoke({ tool: "leaky", arguments: {} }, base);
  await runtime.runs?.finish({ runId: "run_1" }, { reason: secret });
  const tar = [];
  for await (const bytes of (await runtime.runs?.export({ runId: "run_1" })) ?? []) tar.push(bytes);
  const all = Buffer.concat(tar).toString();

  expect(all).toContain("[redacted]");
  expect(all).not.toContain("hunter2");
});

it("does not archive a run whose id turns out to hold a secret, and says so once", async () => {
  const redactor = createRedactor();
  await using k = await kept([], { redactor });
  const session = k.h.runtime.openSession({}, { ...base, runId: "x-hunter2hunter2" });
  redactor.learn("hunter2hunter2");
  for (const to of ["a", "b"]) {
    expect((await session.invoke({ tool: "echo", arguments: { to } })).status).toBe("ok");
    await k.h.runtime.runs?.flush();
  }
  await expect(k.h.runtime.runs?.begin({ runId: "y-hunter2hunter2" })).rejects.toMatchObject({ code: "run_invalid" });
  expect(readdirSync(k.folder).filter((name) => !name.startsWith("."))).toEqual([]);
  expect(k.logged.filter((line) => line.includes("is not archived"))).toHaveLength(1);
  expect(k.logged.join()).not.toContain("hunter2");
});

it("keeps lines under 4 kB whatever tools, actions, agents and arguments are called", async () => {
  await using k = await kept();
  const odd = [
    "\u0000\u0001\u001f".repeat(60),
    "😀".repeat(100),
    '"\\'.repeat(90),
    "\u2028\u2029\ud800",
    "constructor",
    "__proto__",
  ];
  for (const text of odd) {
    const agent = [...text.replaceAll(/[\p{Cc}\p{Cs}]/gu, "x")].slice(0, 100).join("");
    const context = { ...base, taskId: agent, stepId: agent, principal: { tenant: "default", agent, user: agent } };
    await k.h.runtime.invoke({ tool: text, action: text, arguments: { [text]: text } }, context);
    await k.h.runtime.invoke({ tool: "echo", arguments: { to: text.repeat(20) } }, context);
  }
  await k.h.runtime.runs?.finish({ runId: "run_1" });
  for (const file of ["events.jsonl", "logs/tools.jsonl", "logs/errors.jsonl"])
    expect(k.run.longest(file)).toBeLessThan(4_096);
  expect(k.run.calls).toHaveLength(12);
  expect(await k.h.runtime.runs?.verify({ runId: "run_1" })).toMatchObject({ intact: true, problems: [] });
});

it.each(["../x", "a/b", "", "x".repeat(65), "run\u0000", ".."])("refuses the run id %j everywhere", async (runId) => {
  await using k = await kept();
  const { runtime } = k.h;
  await expect(runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { runId })).rejects.toMatchObject({
    code: "context_invalid",
  });
  for (const verb of ["begin", "finish", "get", "events", "calls", "verify", "export"] as const)
    await expect(runtime.runs?.[verb]({ runId })).rejects.toMatchObject({ code: "run_invalid" });
  expect(readdirSync(k.folder).filter((name) => name !== ".position.json")).toEqual([]);
});

it("keeps the runs of tenants apart, also when they have the same id", async () => {
  await using k = await kept();
  const { runtime } = k.h;
  for (const tenant of ["default", "acme", "a/../b"]) {
    await runtime.invoke({ tool: "echo", arguments: { to: tenant } }, { ...base, principal: { tenant, agent: "a" } });
  }
  await runtime.runs?.flush();
  expect(
    readdirSync(k.folder)
      .filter((name) => name !== ".position.json")
      .sort(),
  ).toEqual([expect.stringMatching(/^a-b\.[0-9a-f]{32}~run_1$/), "acme~run_1", "run_1"]);
  expect((await runtime.runs?.list({ tenant: "acme" }))?.map(({ tenant }) => tenant)).toEqual(["acme"]);
  for (const tenant of ["default", "acme", "a/../b"])
    expect(await runtime.runs?.verify({ runId: "run_1", tenant })).toMatchObject({ intact: true, calls: 1 });
  expect(await runtime.runs?.get({ runId: "run_1", tenant: "other" })).toBeUndefined();
});

it("writes within 50 ms on its own, and run.json within a second", async () => {
  const clock = new FakeClock();
  const folder = runsFolder();
  await using h = await house({ archive: { folder }, clock });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  const run = new RunFolder(folder, "run_1");
  expect(run.types).toEqual([]);
  await clock.advance(50);
  await h.runtime.runs?.flush();
  expect(run.types).toContain("tool.completed");
  await clock.advance(1_000);
  await expect.poll(() => run.json("run.json")["counts"]).toMatchObject({ completed: 1 });
});

it("lists the latest first, by tenant and agent, as many as wanted", async () => {
  await using k = await kept();
  const { runtime } = k.h;
  for (const [runId, agent] of [
    ["one", "a"],
    ["two", "b"],
    ["three", "a"],
  ] as const) {
    await runtime.invoke({ tool: "echo", arguments: { to: "x" } }, { runId, principal: { tenant: "default", agent } });
    await runtime.runs?.list();
  }
  writeFileSync(join(k.folder, "stranger"), "");
  const ids = async (where: Parameters<NonNullable<typeof runtime.runs>["list"]>[0]): Promise<readonly string[]> =>
    ((await runtime.runs?.list(where)) ?? []).map(({ run_id }) => run_id);
  expect((await ids({})).slice().sort()).toEqual(["one", "three", "two"]);
  expect((await ids({ agent: "a" })).slice().sort()).toEqual(["one", "three"]);
  expect(await ids({ limit: 1 })).toHaveLength(1);
  expect(await ids({ agent: "nobody" })).toEqual([]);
});

it("has no runs when no folder was given", async () => {
  await using h = await house();
  expect(h.runtime.runs).toBeUndefined();
});

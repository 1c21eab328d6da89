import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { folderName } from "../../packages/postern/src/observe/runs/folders.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import { differences } from "../fakes/projected-again.ts";
import { base, openRunArchive, safe, type Tool } from "../fakes/run-archive.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { runtimeFixture } from "../fakes/runtime-fixture.ts";
import { storeIn } from "../fakes/story-store.ts";

it("keeps no secret in arguments, results, errors, prompts or names", async () => {
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
  const folder = runsFolder();
  await using k = await openRunArchive([leaky, failing], {
    redactor,
    archive: { folder, config: `x: ${secret}\n` },
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
  const files = readdirSync(join(folder, "run_1"), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const all = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8")).join("\n");

  expect(all).toContain("[redacted]");
  expect(all).not.toContain("hunter2");
});

it("does not archive a run whose id contains a secret, and says so once", async () => {
  const redactor = createRedactor();
  await using k = await openRunArchive([], { redactor });
  const session = k.h.runtime.openSession({}, { ...base, runId: "x-hunter2hunter2" });
  redactor.learn("hunter2hunter2");
  for (const to of ["a", "b"]) {
    expect((await session.invoke({ tool: "echo", arguments: { to } })).status).toBe("ok");
    await k.h.runtime.runs?.flush();
  }
  await expect(k.h.runtime.runs?.begin({ runId: "y-hunter2hunter2" })).rejects.toMatchObject({
    code: "request_invalid",
    message: expect.stringContaining("holds a secret"),
  });
  expect(readdirSync(k.folder).filter((name) => !name.startsWith("."))).toEqual([]);
  expect(k.logged.filter((line) => line.includes("is not archived"))).toHaveLength(1);
  expect(k.logged.join()).not.toContain("hunter2");
});

it("keeps lines under 4 kB with any names of tools, actions, agents and arguments", async () => {
  await using k = await openRunArchive();
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
  expect(await differences(k.h.runtime, k.run)).toEqual([]);
});

it.each(["../x", "a/b", "", "x".repeat(65), "run\u0000", ".."])("refuses the run id %j everywhere", async (runId) => {
  await using k = await openRunArchive();
  const { runtime } = k.h;
  await expect(runtime.invoke({ tool: "echo", arguments: { to: "a" } }, { runId })).rejects.toMatchObject({
    code: "context_invalid",
  });
  for (const verb of ["begin", "finish", "get", "events", "calls"] as const)
    await expect(runtime.runs?.[verb]({ runId })).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining("is no run's id"),
    });
  expect(readdirSync(k.folder).filter((name) => name !== ".position.json")).toEqual([]);
});

it("keeps the runs of tenants apart, also if they have the same id", async () => {
  await using k = await openRunArchive();
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
  for (const tenant of ["default", "acme", "a/../b"]) {
    const run = new RunFolder(k.folder, folderName(tenant, "run_1"));
    expect(await differences(runtime, run, { tenant })).toEqual([]);
    expect(run.calls).toHaveLength(1);
  }
  expect(await runtime.runs?.get({ runId: "run_1", tenant: "other" })).toBeUndefined();
});

it("writes lines within 50 ms, and run.json within a second", async () => {
  const clock = new FakeClock();
  const folder = runsFolder();
  await using h = await runtimeFixture({ archive: { folder }, clock });
  await h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);
  const run = new RunFolder(folder, "run_1");
  expect(run.types).toEqual([]);
  await clock.advance(50);
  await h.runtime.runs?.flush();
  expect(run.types).toContain("tool.completed");
  await clock.advance(1_000);
  await expect.poll(() => run.json("run.json")["counts"]).toMatchObject({ completed: 1 });
});

it("projects again from an older position without a change in any file", async () => {
  const kept = storeIn(join(runsFolder(), "postern.db"));
  const folder = runsFolder();
  {
    await using h = await runtimeFixture({ ...kept, archive: { folder } });
    for (const to of ["a", "b"]) await h.runtime.invoke({ tool: "echo", arguments: { to } }, base);
    await h.runtime.invoke({ tool: "nope", arguments: {} }, base);
    await h.runtime.invoke({ tool: "mail", arguments: { to: "c" } }, base);
    await h.runtime.note("operator.action.remark", "looks good", { by: "boss", data: { run_id: "run_1" } });
  }
  const run = new RunFolder(folder, "run_1");
  const files = ["events.jsonl", "logs/tools.jsonl", "logs/errors.jsonl", "run.json", "session.json"];
  const before = files.map((name) => run.text(name));
  writeFileSync(join(folder, ".position.json"), '{"up_to":0}');
  {
    await using h = await runtimeFixture({ ...kept, archive: { folder } });
    expect(await differences(h.runtime, run)).toEqual([]);
  }
  expect(files.map((name) => run.text(name))).toEqual(before);
});

it("lists the latest first, by tenant and agent, up to a limit", async () => {
  await using k = await openRunArchive();
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

it("has no runs without a folder", async () => {
  await using h = await runtimeFixture();
  expect(h.runtime.runs).toBeUndefined();
});

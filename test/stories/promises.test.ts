/** Central promises; each test fails when the code behind it is removed. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { settled } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { mail } from "../fakes/deciders.ts";
import { ask, remember, statusOf } from "../fakes/granting.ts";
import { heldDisk } from "../fakes/held-disk.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { type ProbeTool, probe } from "../fakes/probe.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const folder = ownFolder();
const policy = { maxRiskUnapproved: "high" } as const;

describe("a claim", () => {
  it.each([
    ["high", "write", false],
    ["safe", "write", false],
    ["safe", "write", true],
    ["safe", "read", false],
    ["medium", "read", true],
  ] as const)(
    "of a tool with risk %s, effect %s, idempotent %s is on the disk before the tool starts",
    async (...given) => {
      const [risk, effects, idempotent] = given;
      let ran = 0;
      const execute = (): string => {
        ran += 1;
        return "done";
      };
      const store = `sqlite:${join(folder, `${given.join("-")}.db`)}`;
      await using runtime = await createRuntime({
        tools: probe({ risk, effects, idempotent, execute }),
        store,
        policy,
      });
      using disk = heldDisk();
      const calling = runtime.invoke({ tool: "probe" }, { ...asker, idempotencyKey: "k" });
      await expect.poll(() => disk.unanswered).toBeGreaterThan(0);
      await settled();
      expect(ran).toBe(0);
      disk.release();
      expect((await calling).status).toBe("ok");
      expect(ran).toBe(1);
    },
  );

  it("that uses an approval is on the disk before the tool starts, though the tool only reads", async () => {
    let ran = 0;
    const execute = (): string => {
      ran += 1;
      return "done";
    };
    const store = `sqlite:${join(folder, "approved.db")}`;
    const asks = { rules: [{ id: "ask", effect: "confirm", tool: "probe" }] } as const;
    await using runtime = await createRuntime({
      ...{ tools: probe({ execute }), store, policy: asks, approvals: { patience: "suspend" } },
    });
    const { approvalId = "" } = await runtime.invoke({ tool: "probe" }, asker);
    await runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    using disk = heldDisk();
    const calling = runtime.invoke({ tool: "probe" }, asker);
    await expect.poll(() => disk.unanswered).toBeGreaterThan(0);
    await settled();
    expect(ran).toBe(0);
    disk.release();
    expect((await calling).status).toBe("ok");
    expect(ran).toBe(1);
  });

  it("of a safe idempotent tool that only reads waits for no disk", async () => {
    const store = `sqlite:${join(folder, "reads.db")}`;
    await using runtime = await createRuntime({ tools: probe(), store });
    using _disk = heldDisk();
    expect((await runtime.invoke({ tool: "probe" }, asker)).status).toBe("ok");
  });
});

/** The same four kinds of tools with this function. */
function four(execute: () => unknown): readonly ProbeTool[] {
  const tool = (name: string, more: Partial<ProbeTool>): ProbeTool => probe({ name, execute, ...more })[0];
  return [
    tool("pay", { risk: "high", effects: "write", idempotent: false }),
    tool("note", { risk: "safe", effects: "write", idempotent: false }),
    tool("put", { risk: "high", effects: "write", idempotent: true }),
    tool("read", { risk: "high", effects: "read", idempotent: false }),
  ];
}

it("recovery leaves a call with an effect unknown and not retryable; one without runs again", async () => {
  const file = join(folder, "dead.db");
  const names = ["pay", "note", "put", "read"];
  const call = (runtime: Runtime, tool: string, key?: string) =>
    runtime.invoke({ tool }, { ...asker, ...(key !== undefined && { idempotencyKey: key }) });
  const { promise, resolve } = Promise.withResolvers<string>();
  await using first = await createRuntime({ tools: four(() => promise), store: `sqlite:${file}`, policy });
  const running = names.map((name) => call(first, name, "k"));
  await expect.poll(async () => (await first.calls.list({ state: "attempted" })).length).toBe(4);
  for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${file}.copy${end}`); // as a crash leaves it
  resolve("done");
  await Promise.all(running);

  await using second = await createRuntime({ tools: four(() => "again"), store: `sqlite:${file}.copy`, policy });
  const left = await second.calls.list({});
  expect(left.map(({ state, retryable }) => ({ state, retryable }))).toEqual(
    names.map(() => ({ state: "unknown", retryable: false })),
  );
  const again: Record<string, string> = {};
  for (const name of names) {
    const outcome = await call(second, name, "k");
    again[name] = outcome.refusal?.code ?? outcome.text;
  }
  expect(again).toEqual({ pay: "outcome_unknown", note: "outcome_unknown", put: "again", read: "again" });
  for (const name of ["pay", "note"]) expect((await call(second, name)).refusal?.code).toBe("outcome_unknown");
});

describe("another principal", () => {
  const strangers = [
    ["another agent", { tenant: "default", agent: "b", user: "asker" }],
    ["another user of the agent", { tenant: "default", agent: "a", user: "eve" }],
    ["the agent without its user", { tenant: "default", agent: "a" }],
    ["another tenant", { tenant: "other", agent: "a", user: "asker" }],
  ] as const;

  it.each(strangers)("that is %s resumes nothing and gets no result", async (_, principal) => {
    await using h = await runtimeFixture();
    const id = await ask(h);
    await h.runtime.approvals.decide(id, { decision: "approved", by: boss });
    expect(await h.runtime.resume(id, { principal })).toBeUndefined();
    expect([h.ran, (await h.runtime.approvals.get(id))?.state]).toEqual([[], "approved"]);
    expect(await h.runtime.resume(id, asker)).toMatchObject({ status: "ok" });
    expect(await h.runtime.resume(id, { principal })).toBeUndefined();
    expect(h.ran).toHaveLength(1);
  });

  it.each(strangers)("that is %s does not use a grant", async (_, principal) => {
    await using h = await runtimeFixture();
    await remember(h, await ask(h), { for: { until: h.clock.now() + 3_600_000 }, reason: "they are fine" });
    expect(h.runtime.approvals.grants.list()).toHaveLength(1);
    expect(await statusOf(h, "y")).toBe("ok");
    expect(await h.runtime.invoke(mail("z"), { principal })).toMatchObject({ status: "pending" });
    expect(h.ran).toEqual([{ to: "y" }]);
  });
});

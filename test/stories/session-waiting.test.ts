import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import type { SessionCall } from "../../packages/postern/src/index.ts";
import { probe } from "../fakes/probe.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const mail = { tool: "mail", arguments: { to: "x" } } as const;
const own: SessionCall = { taskId: "task-1" };

describe("the options of a session hold for a call with options of its own", () => {
  it("a session with patience `deny` asks no person, whatever patience a call has", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, { ...asker, patience: "deny" });
    for (const call of [own, { patience: "suspend" }, { patience: "wait", taskId: "task-1" }] as const)
      expect(await session.invoke(mail, call)).toMatchObject({ refusal: { code: "approval_unavailable" } });
    expect(await h.runtime.approvals.list()).toEqual([]);
  });

  it("a call may refuse to ask where its session would wait", async () => {
    await using h = await runtimeFixture();
    const session = h.runtime.openSession({}, { ...asker, patience: "suspend" });
    expect(await session.invoke(mail, { patience: "deny" })).toMatchObject({
      refusal: { code: "approval_unavailable" },
    });
  });

  it("the session's deadline ends a call with a later one", async () => {
    const clock = new FakeClock();
    await using h = await runtimeFixture({ clock, autonomy: "A4" });
    const session = h.runtime.openSession({}, { ...asker, deadline: clock.now() - 1 });
    await expect(session.invoke(mail, { ...own, deadline: clock.now() + 60_000 })).rejects.toThrow("deadline passed");
    expect(h.ran).toEqual([]);
  });

  it("both signals cancel: the session's and the call's", async () => {
    await using h = await runtimeFixture({ autonomy: "A4" });
    const gone = AbortSignal.abort(new Error("gone"));
    const waits = new AbortController().signal;
    for (const [opened, call] of [
      [gone, waits],
      [waits, gone],
    ] as const) {
      const session = h.runtime.openSession({}, { ...asker, signal: opened });
      await expect(session.invoke(mail, { ...own, signal: call })).rejects.toThrow("gone");
    }
    expect(h.ran).toEqual([]);
  });

  it("the session gets the progress of a call without its own sink", async () => {
    const received: string[] = [];
    await using h = await runtimeFixture({}, probe({ execute: (_, { progress }) => void progress("half") }));
    const session = h.runtime.openSession({}, { ...asker, onProgress: ({ content }) => void received.push(content) });
    await session.invoke({ tool: "probe", arguments: {} }, own);
    await session.invoke({ tool: "probe", arguments: {} }, { ...own, onProgress: () => {} });
    expect(received.filter((output) => output === "half")).toHaveLength(1);
  });
});

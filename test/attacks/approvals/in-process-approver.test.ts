import { describe, expect, it } from "vitest";
import { FakeClock, settled } from "../../../packages/core/src/testing/clock.ts";
import type { Approver } from "../../../packages/postern/src/approvals/index.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { asker, eventTypes, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const folder = ownFolder();
const mail = { tool: "mail", arguments: { to: "x" } };

/** An approver that never answers, with its requests and their signals. */
function silent(): { readonly approver: Approver; readonly signals: AbortSignal[] } {
  const signals: AbortSignal[] = [];
  const ask: Approver["ask"] = (_, signal) => {
    signals.push(signal);
    return new Promise(() => {});
  };
  return { approver: { name: "silent", ask }, signals };
}

describe("an approver in this process", () => {
  it("gets an abort when the last wait ends, and is asked again when the call comes again", async () => {
    const { approver, signals } = silent();
    await using h = await runtimeFixture({ approvals: { patience: "wait", approver } });
    const waiting = h.runtime.invoke(mail, { ...asker, approvalWaitMs: 1000 });
    await h.clock.advance(500);
    const other = h.runtime.invoke(mail, { ...asker, approvalWaitMs: 1000 });
    await h.clock.advance(600);
    expect((await waiting).refusal?.code).toBe("approval_timed_out");
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await h.clock.advance(600);
    expect((await other).refusal?.code).toBe("approval_timed_out");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    const again = h.runtime.invoke(mail, { ...asker, approvalWaitMs: 1000 });
    await h.clock.advance(2000);
    await again;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect((await h.runtime.approvals.list()).map(({ state }) => state)).toEqual(["pending"]);
  });

  it("gets an abort when the request expires, and its late answer changes nothing", async () => {
    const answers: ((answer: { readonly decision: "approved" }) => void)[] = [];
    const signals: AbortSignal[] = [];
    const approver: Approver = {
      name: "late",
      ask: (_, signal) => {
        signals.push(signal);
        return new Promise((resolve) => answers.push(resolve));
      },
    };
    await using h = await runtimeFixture({ approvals: { patience: "suspend", approver } });
    await h.runtime.invoke(mail, asker);
    await settled();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await h.clock.advance(3_600_001);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    for (const answer of answers) answer({ decision: "approved" });
    await settled();
    expect((await h.runtime.approvals.list()).map(({ state }) => state)).toEqual(["expired"]);
    expect(h.ran).toEqual([]);
  });

  it("does not deny a request by answering after the abort", async () => {
    const ask: Approver["ask"] = (_, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve({ decision: "denied" })));
    await using h = await runtimeFixture({ approvals: { patience: "wait", approver: { name: "leaves", ask } } });
    const waiting = h.runtime.invoke(mail, { ...asker, approvalWaitMs: 1000 });
    await h.clock.advance(2000);
    expect((await waiting).refusal?.code).toBe("approval_timed_out");
    expect((await h.runtime.approvals.list()).map(({ state }) => state)).toEqual(["pending"]);
  });

  it("is asked about a request that outlived the process which made it", async () => {
    const store = `sqlite:${folder}/outlived.db`;
    const clock = new FakeClock();
    const first = silent();
    {
      await using h = await runtimeFixture({
        store,
        clock,
        approvals: { patience: "suspend", approver: first.approver },
      });
      expect((await h.runtime.invoke(mail, asker)).status).toBe("pending");
    }
    let asked = 0;
    const approver: Approver = {
      name: "auto",
      ask: async () => {
        asked += 1;
        return { decision: "approved" };
      },
    };
    await using h = await runtimeFixture({ store, clock, approvals: { patience: "wait", approver } });
    expect((await sent(h)).status).toBe("ok");
    expect([asked, h.ran.length]).toEqual([1, 1]);
  });
});

async function sent(h: RuntimeFixture): ReturnType<RuntimeFixture["runtime"]["invoke"]> {
  const running = h.runtime.invoke(mail, asker);
  let isOver = false;
  void running.then(() => {
    isOver = true;
  });
  while (!isOver) await h.clock.advance(1);
  return running;
}

describe("the lifetime of a request", () => {
  class SteppingClock extends FakeClock {
    stepMs = 0;
    readonly longestMs = 2 ** 31 - 1; // what a timer can keep

    override now(): number {
      return super.now() + this.stepMs;
    }

    override in(ms: number, then: () => void): () => void {
      return super.in(Math.min(this.longestMs, ms), then);
    }
  }

  it("ends also when the wall clock was set back, and the log says so", async () => {
    const clock = new SteppingClock();
    await using h = await runtimeFixture({ clock });
    await h.runtime.invoke(mail, asker);
    clock.stepMs = -2000;
    await clock.advance(3_600_000);
    expect((await h.runtime.approvals.list()).map(({ state }) => state)).toEqual(["pending"]);
    await clock.advance(2000);
    expect((await h.runtime.approvals.list()).map(({ state }) => state)).toEqual(["expired"]);
    expect(await eventTypes(h.runtime)).toContain("gate.expired");
  });

  it("is as long as configured, even if no timer can last that long", async () => {
    const day = 86_400_000;
    const clock = new SteppingClock();
    const route = { name: "long", ttlMs: 30 * day, remindBeforeMs: 3_600_000 };
    await using h = await runtimeFixture({ clock, approvals: { patience: "suspend", routes: [route] } });
    await h.runtime.invoke(mail, asker);
    await clock.advance(29 * day);
    expect(await eventTypes(h.runtime)).not.toContain("approval.reminder");
    await clock.advance(day - 1);
    expect(await eventTypes(h.runtime)).toContain("approval.reminder");
    await clock.advance(1);
    expect(await eventTypes(h.runtime)).toContain("gate.expired");
  });
});

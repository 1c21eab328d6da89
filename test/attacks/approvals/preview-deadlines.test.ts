import { describe, expect, it } from "vitest";
import type { FakeClock } from "../../../packages/core/src/testing/clock.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

interface Wire {
  readonly h: RuntimeFixture;
  readonly ran: unknown[];
  /** How long the next previews take, in milliseconds, and the error they fail with. */
  readonly world: { slowMs: number; problem: string | undefined };
}

/** A runtime with one tool whose preview can be slow or fail. */
async function openWire(): Promise<Wire & AsyncDisposable> {
  const ran: unknown[] = [];
  const world: Wire["world"] = { slowMs: 0, problem: undefined };
  const time: { clock?: FakeClock } = {};
  const h = await runtimeFixture({}, [
    {
      name: "wire",
      description: "Sends money.",
      risk: "high",
      effects: "write",
      idempotent: false,
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      preview: async () => {
        if (world.slowMs > 0) await new Promise<void>((resolve) => time.clock?.in(world.slowMs, resolve));
        if (world.problem !== undefined) throw new Error(world.problem);
        return { summary: "to the account that was named" };
      },
      execute: (given: unknown) => {
        ran.push(given);
        return "sent";
      },
    } as never,
  ]);
  time.clock = h.clock;
  return { h, ran, world, [Symbol.asyncDispose]: () => h.runtime.close() };
}

const call = { tool: "wire", arguments: { to: "x" } };

async function approved({ h }: Wire): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke(call, asker);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  return approvalId;
}

describe("a caller whose time ends while a preview is made", () => {
  it.each<readonly [string, (h: RuntimeFixture) => Promise<unknown>]>([
    ["deadline", (h) => h.runtime.invoke(call, { ...asker, deadline: h.clock.now() + 100 })],
    ["session", (h) => h.runtime.openSession({ totalTimeoutMs: 100 }, asker).invoke(call)],
    ["patience", (h) => h.runtime.invoke(call, { ...asker, signal: abortedAfter(h, 100) })],
  ])("does not use the approval when its %s is over; the next caller can", async (_, hurried) => {
    await using wire = await openWire();
    const id = await approved(wire);
    wire.world.slowMs = 500;
    const ended = hurried(wire.h).catch((error: unknown) => error);
    await wire.h.clock.advance(1000);
    await ended;
    expect((await wire.h.runtime.approvals.get(id))?.state).toBe("approved");
    expect(wire.ran).toEqual([]);
    wire.world.slowMs = 0;
    expect((await wire.h.runtime.invoke(call, asker)).status).toBe("ok");
    expect(wire.ran).toHaveLength(1);
  });

  it("asks no person, because no preview was shown", async () => {
    await using wire = await openWire();
    wire.world.slowMs = 500;
    const ended = wire.h.runtime.openSession({ totalTimeoutMs: 100 }, asker).invoke(call);
    await wire.h.clock.advance(1000);
    expect((await ended).refusal?.code).toBe("budget_exhausted");
    expect(await wire.h.runtime.approvals.list()).toEqual([]);
  });

  it("does not see a preview that was cut off", async () => {
    await using wire = await openWire();
    wire.world.slowMs = 500;
    const ended = wire.h.runtime.invoke(call, { ...asker, autonomy: "A0", deadline: wire.h.clock.now() + 100 });
    const told = ended.catch((error: unknown) => error);
    await wire.h.clock.advance(1000);
    expect(await told).not.toMatchObject({ status: "preview" });
  });
});

describe("a preview that fails when the approved call would run", () => {
  it.each([
    ["the first preview also failed, for another reason", "upstream down", "the account is closed"],
    ["the first preview also failed, for the same reason", "upstream down", "upstream down"],
    ["the first preview succeeded", undefined, "the account is closed"],
  ])("voids the approval: %s", async (_, before, after) => {
    await using wire = await openWire();
    wire.world.problem = before;
    const id = await approved(wire);
    wire.world.problem = after;
    expect((await wire.h.runtime.resume(id))?.refusal?.code).toBe("approval_expired");
    const found = await wire.h.runtime.approvals.get(id);
    expect([found?.state, found?.decision?.reason]).toEqual(["withdrawn", expect.stringContaining(after)]);
    expect(wire.ran).toEqual([]);
  });
});

function abortedAfter({ clock }: RuntimeFixture, ms: number): AbortSignal {
  const controller = new AbortController();
  clock.in(ms, () => controller.abort(new Error("gone")));
  return controller.signal;
}

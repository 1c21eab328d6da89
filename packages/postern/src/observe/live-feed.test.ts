import { describe, expect, it } from "vitest";
import { actor } from "../../../../test/fakes/actors.ts";
import { fakeDriver } from "../../../../test/fakes/fake-sandbox.ts";
import { all, FeedRecorder, listen } from "../../../../test/fakes/feed-recorder.ts";
import { cheap, holder } from "../../../../test/fakes/people.ts";
import { asker, boss, runtimeFixture } from "../../../../test/fakes/runtime-fixture.ts";
import { FakeClock, settled } from "../../../core/src/testing/clock.ts";

const echo = { tool: "echo", arguments: { to: "x" } };
const mail = { tool: "mail", arguments: { to: "x" } };

describe("the live feed", () => {
  it("sends committed entries and announced moments, in order", async () => {
    await using h = await runtimeFixture();
    const reader = await listen(h);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(reader.types).toEqual(["tool_call.arrived", "tool_call.attempted", "tool_call.succeeded", "tool_call.left"]);
    const [, attempted] = reader.events;
    expect(attempted).toMatchObject({ tool: "echo", agent: "a", runId: expect.any(String), summary: "echo started" });
    expect(attempted?.data).not.toHaveProperty("request_hash");
    const places = reader.events.map(({ id }) => Number(id));
    expect([...places].sort((a, b) => a - b)).toEqual(places);
    expect(new Set(reader.events.map(({ id }) => id)).size).toBe(4);
  });

  it("sends an approval request and its decision, with its id", async () => {
    await using h = await runtimeFixture();
    const reader = await listen(h, { ...all, types: ["gate."] });
    const { approvalId = "" } = await h.runtime.invoke(mail, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.clock.advance(25);
    expect(reader.types).toEqual(["gate.required", "gate.approved"]);
    expect(reader.events.map((event) => event.approvalId)).toEqual([approvalId, approvalId]);
  });

  it("sends nothing of another tenant, and an agent only its own events", async () => {
    await using h = await runtimeFixture();
    const acme = await listen(h, { ...all, tenant: "acme" });
    const other = await listen(h, { ...all, principal: { tenant: "default", agent: "b" }, also: "nothing" });
    const others = await listen(h, { ...all, principal: { ...asker.principal, user: "bob" }, also: "nothing" });
    const own = await listen(h, { ...all, principal: asker.principal, also: "nothing" });
    await h.runtime.invoke(echo, asker);
    await h.runtime.controls.pause(actor("boss"));
    await h.clock.advance(25);
    expect(acme.events).toEqual([]);
    expect([...other.events, ...others.events]).toEqual([]);
    expect(own.types).not.toContain("operator.action.pause");
    expect(own.types).toHaveLength(4);
  });

  it("sends alarms and global switches to readers who may not read the log", async () => {
    await using h = await runtimeFixture();
    const viewer = await listen(h, { ...all, also: "alarms" });
    const boss = actor("boss");
    await h.runtime.controls.pause(boss);
    await h.runtime.controls.resume(boss);
    await h.runtime.controls.setTool("mail", false, boss);
    await h.runtime.note("operator.action.secret_changed", "a secret", boss);
    await h.runtime.note("operator.action.sign_in", "boss signed in", boss);
    await h.clock.advance(25);
    expect(viewer.types).toEqual(["operator.action.pause", "operator.action.resume", "operator.action.tool"]);
  });

  it("continues after a reader's last event, from memory", async () => {
    await using h = await runtimeFixture();
    const first = await listen(h);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    const seen = first.events[1]?.id ?? "";
    first.subscription[Symbol.dispose]();
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    const back = await listen(h, all, seen);
    expect(back.types).toEqual([
      ...["tool_call.succeeded", "tool_call.left"],
      ...["tool_call.arrived", "tool_call.attempted", "tool_call.succeeded", "tool_call.left"],
    ]);
    expect(back.resets).toEqual([]);
  });

  it("continues from the log if there was no reader, and sends nothing twice", async () => {
    await using h = await runtimeFixture();
    const first = await listen(h);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    first.subscription[Symbol.dispose]();
    await h.clock.advance(60_000);
    for (let call = 0; call < 10; call += 1) await h.runtime.invoke(echo, asker);
    const back = await listen(h, all, first.last);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(back.types.filter((type) => type === "tool_call.attempted")).toHaveLength(11);
    expect(new Set(back.events.map(({ id }) => id)).size).toBe(back.events.length);
  });

  it.each(["999999999", "nonsense", "-2", "1.2.3"])("resets a reader that names %s", async (after) => {
    await using h = await runtimeFixture();
    const reader = await listen(h, all, after);
    expect(reader.resets).toEqual([[reader.subscription.from, "too_old"]]);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(reader.events).toHaveLength(4);
  });

  it("resets a reader that is more than 2,000 entries behind", async () => {
    await using h = await runtimeFixture();
    await h.runtime.invoke(echo, asker);
    for (let call = 0; call < 1_001; call += 1) await h.runtime.invoke(echo, asker);
    const reader = await listen(h, all, "0");
    expect(reader.resets.map(([, reason]) => reason)).toEqual(["too_old"]);
    expect(reader.events).toEqual([]);
  });

  it("drops a reader that takes no more, and continues with the others", async () => {
    await using h = await runtimeFixture();
    const slow = await listen(h);
    const quick = await listen(h);
    slow.refuses = true;
    for (const _ of [1, 2]) {
      await h.runtime.invoke(echo, asker);
      await h.clock.advance(25);
    }
    expect(slow.resets.map(([, reason]) => reason)).toEqual(["too_slow"]);
    expect(slow.events).toHaveLength(4);
    expect(quick.events).toHaveLength(8);
  });

  it("drops events beyond 1,000 a second, and sends a reset after the second", async () => {
    await using h = await runtimeFixture();
    const reader = await listen(h);
    for (let call = 0; call < 300; call += 1) await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(reader.events).toEqual([]);
    await h.clock.advance(1_000);
    expect(reader.resets.map(([, reason]) => reason)).toEqual(["too_many"]);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(reader.events).toHaveLength(4);
    expect(Number(reader.resets[0]?.[0])).toBeLessThan(Number(reader.events[0]?.id));
  });

  it("sends grants to all readers, and changes of deciders without details", async () => {
    await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
    const reader = await listen(h, { ...all, also: "alarms" });
    const { approvalId = "" } = await h.runtime.invoke(mail, asker);
    const remember = { for: "run", reason: "these" } as const;
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss, remember });
    await h.runtime.accounts.add({ name: "evelyn", roles: ["approver"], displayName: "Eve Secret" }, holder);
    await h.clock.advance(25);
    expect(reader.types).toContain("grant.made");
    expect(reader.events.find(({ type }) => type === "approval.deciders_changed")).toMatchObject({ data: {} });
    expect(JSON.stringify(reader.events)).not.toMatch(/evelyn|Eve Secret|account_added/);
    const agent = await listen(h, { ...all, also: "nothing" }, reader.events[0]?.id ?? "");
    expect(agent.types.filter((type) => /grant|deciders|operator/.test(type))).toEqual([]);
  });

  it("gives readers with the same filter the same list", async () => {
    await using h = await runtimeFixture();
    const [one, two] = [await listen(h), await listen(h)];
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(25);
    expect(one.lists[0]).toBe(two.lists[0]);
  });

  const report = {
    name: "report",
    description: "Counts.",
    risk: "safe",
    idempotent: true,
    input: { type: "object" },
  } as const;

  it.each([
    [0.25, { fraction: 0.25 }],
    [7, { fraction: 1 }],
    [-1, { fraction: 0 }],
    [Number.NaN, {}],
    [undefined, {}],
  ])("tells how much is done: %s", async (fraction, data) => {
    await using h = await runtimeFixture({}, [
      {
        ...report,
        execute: (_: unknown, context) => {
          context.progress("on it", fraction);
          return "done";
        },
      },
    ]);
    const reader = await listen(h, { ...all, types: ["tool_call.progressed"] });
    await h.runtime.invoke({ tool: "report", arguments: {} }, asker);
    await h.clock.advance(1_025);
    expect(reader.events).toMatchObject([{ summary: "on it" }]);
    expect(reader.events[0]?.data).toEqual({ action: "default", ...data });
  });

  it("sends the progress of a script, and the call that a repeated one is recorded under", async () => {
    await using h = await runtimeFixture(
      {
        chains: { drivers: [fakeDriver()], engines: ["fake"] },
        policy: { rules: [{ effect: "confirm", tool: "report" }] },
      },
      [
        {
          ...report,
          execute: async (_: unknown, context) => {
            context.progress("asked about");
            return "done";
          },
        },
      ],
    );
    const reader = await listen(h, { ...all, types: ["tool_call.progressed"] });
    const code = `await host("progress", { message: "half", fraction: 0.5 }); return 1;`;
    await h.runtime.runChain({ code, language: "javascript" }, asker);
    const call = { tool: "report", arguments: {} };
    const held = await h.runtime.invoke(call, asker);
    await h.runtime.approvals.decide(held.approvalId ?? "", { decision: "approved", by: boss });
    await h.runtime.invoke(call, asker);
    await h.clock.advance(1_025);
    expect(reader.events).toMatchObject([
      { summary: "half", data: { fraction: 0.5 } },
      { summary: "asked about", data: { recorded_as: held.callId } },
    ]);
  });

  it("sends only the last progress of a call", async () => {
    await using h = await runtimeFixture({}, [
      {
        ...report,
        execute: async (_: unknown, context) => {
          for (let step = 0; step < 10_000; step += 1) context.progress(`step ${step}`);
          return "done";
        },
      },
    ]);
    const reader = await listen(h, { ...all, types: ["tool_call.progressed"] });
    await h.runtime.invoke({ tool: "report", arguments: {} }, asker);
    await h.clock.advance(1_025);
    expect(reader.events.map(({ summary }) => summary).slice(-1)).toEqual(["step 9999"]);
    expect(reader.events.length).toBeLessThan(10);
  });

  it("beats every 15 s, ends with the runtime, and has 256 readers at most", async () => {
    const h = await runtimeFixture();
    const reader = await listen(h);
    await h.clock.advance(45_000);
    expect(reader.beats).toBe(3);
    for (let reader = 1; reader < 256; reader += 1) await listen(h);
    expect(await h.runtime.feed.open(all, undefined, new FeedRecorder())).toBeUndefined();
    await h.runtime.close();
    expect(reader.ended).toBe(true);
  });

  it("has no follower and no timer without readers", async () => {
    await using h = await runtimeFixture();
    const before = h.clock.waiting;
    const reader = await listen(h);
    await h.runtime.invoke(echo, asker);
    await h.clock.advance(2_000);
    reader.subscription[Symbol.dispose]();
    await h.clock.advance(60_000);
    await settled();
    expect(h.clock.waiting).toBeLessThanOrEqual(before + 1); // a checkpoint of the log may be due
    expect(new FakeClock().waiting).toBe(0);
  });
});

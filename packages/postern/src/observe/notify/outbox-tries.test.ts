import { describe, expect, it } from "vitest";
import { channelOf, fixtureWith, notTaken, recordingChannel } from "../../../../../test/fakes/channel-fixture.ts";
import { mail } from "../../../../../test/fakes/deciders.ts";
import { asker, boss, eventTypes } from "../../../../../test/fakes/runtime-fixture.ts";
import { settled } from "../../../../core/src/testing/clock.ts";

describe("a channel", () => {
  it("is tried again with growing delays, under the same id, until it is delivered", async () => {
    const channel = recordingChannel();
    channel.answers.push(notTaken, new Error("ECONNREFUSED"), notTaken);
    await using h = await fixtureWith(channel);
    await h.runtime.invoke(mail("x"), asker);
    await settled(20);
    expect(channelOf(h)).toMatchObject({ waiting: 1, problem: "It answered 500." });
    await h.clock.advance(3_900);
    expect(channel.notices).toHaveLength(1);
    await h.clock.advance(2_100);
    expect(channel.notices).toHaveLength(2);
    expect(channelOf(h)).toMatchObject({ problem: "ECONNREFUSED" });
    await h.clock.advance(36_000);
    expect(channel.notices).toHaveLength(3);
    await h.clock.advance(144_000);
    expect(channel.notices).toHaveLength(4);
    expect(new Set(channel.notices.map(({ id }) => id)).size).toBe(1);
    expect(channelOf(h)).toMatchObject({ waiting: 0, delivered: 1 });
  });

  it("waits as long as the receiver asks", async () => {
    const channel = recordingChannel();
    channel.answers.push({ ...notTaken, retryAfterMs: 600_000 });
    await using h = await fixtureWith(channel);
    await h.runtime.invoke(mail("x"), asker);
    await settled(20);
    await h.clock.advance(599_000);
    expect(channel.notices).toHaveLength(1);
    await h.clock.advance(1_000);
    expect(channel.notices).toHaveLength(2);
  });

  it("is given up after eight tries, with an alarm, and tried again on request", async () => {
    const channel = recordingChannel({ wants: ({ type }) => type === "approval.decided" });
    channel.answers.push(...Array.from({ length: 8 }, () => notTaken));
    await using h = await fixtureWith(channel);
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss });
    for (let hour = 0; hour < 15; hour += 1) await h.clock.advance(3_600_000);
    await settled(20);
    expect(channel.notices).toHaveLength(8);
    expect(channelOf(h)?.dead).toEqual([
      expect.objectContaining({ type: "approval.decided", attempts: 8, problem: "It answered 500." }),
    ]);
    expect(await eventTypes(h.runtime)).toEqual(
      expect.arrayContaining(["channel.dead_letter", "alarm.channel_failed"]),
    );
    expect(await h.runtime.channels?.retry("mine")).toBe(1);
    await settled(20);
    expect(channel.notices).toHaveLength(9);
    expect(channelOf(h)).toMatchObject({ dead: [], delivered: 1 });
    await settled(20);
    expect(h.runtime.alarms.list().map(({ state }) => state)).toEqual(["resolved"]);
    expect(await h.runtime.channels?.retry("none")).toBeUndefined();
  });

  it("is given up at once if another try is of no use", async () => {
    const channel = recordingChannel();
    channel.answers.push({ ...notTaken, final: true });
    await using h = await fixtureWith(channel);
    await h.runtime.invoke(mail("x"), asker);
    await settled(20);
    expect(channelOf(h)?.dead).toHaveLength(1);
  });

  it("gets nothing after `gone` until a person asks, and what it missed is recorded", async () => {
    const channel = recordingChannel({ wants: ({ type }) => type === "approval.requested" });
    channel.answers.push({ ...notTaken, final: true, gone: true });
    await using h = await fixtureWith(channel);
    for (const to of ["x", "y", "z"]) await h.runtime.invoke(mail(to), asker);
    await settled(20);
    for (let minute = 0; minute < 10; minute += 1) await h.clock.advance(60_000);
    expect(channel.notices).toHaveLength(1);
    expect(channelOf(h)?.dead.map(({ problem }) => problem)).toEqual(Array(3).fill("It answered 500."));
    expect(await h.runtime.channels?.retry("mine")).toBe(3);
    await settled(20);
    expect(channel.notices).toHaveLength(4);
    expect(channelOf(h)).toMatchObject({ dead: [], delivered: 3 });
  });
});

import { describe, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { channelOf, fixtureWith, notTaken, recordingChannel } from "../../../../../test/fakes/channel-fixture.ts";
import { ann, bob, mail } from "../../../../../test/fakes/deciders.ts";
import { FaultyStore } from "../../../../../test/fakes/faulty-store.ts";
import { asker, boss, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";

const _files = sqliteFiles();

class BreakingStore extends FaultyStore {
  why: Error | undefined;

  override get broken(): Error | undefined {
    return this.why;
  }

  override commit(...write: Parameters<FaultyStore["commit"]>): ReturnType<FaultyStore["commit"]> {
    return this.why === undefined ? super.commit(...write) : Promise.reject(this.why);
  }
}

describe("a channel", () => {
  it("gets requests and decisions once, with a link to the approval", async () => {
    const channel = recordingChannel();
    await using h = await fixtureWith(channel);
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await settled(20);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await settled(20);
    await h.clock.advance(1_000);
    expect(channel.notices.map(({ type }) => type)).toEqual(["approval.requested", "approval.decided"]);
    expect(channel.notices[0]).toMatchObject({
      tenant: "default",
      link: `https://postern.example/approvals/${approvalId}`,
      approval: { id: approvalId, tool: "mail" },
      data: { approval_id: approvalId },
    });
    expect(channelOf(h)).toMatchObject({ delivered: 2, waiting: 0, dead: [] });
  });

  it("gets an edited request, but not each vote", async () => {
    const channel = recordingChannel();
    const routes = [{ match: { tools: ["mail"] }, quorum: 2 }];
    await using h = await fixtureWith(channel, { approvals: { patience: "suspend", routes } });
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: ann });
    await h.runtime.approvals.decide(approvalId, { decision: "modified", arguments: { to: "y" }, by: bob });
    await settled(20);
    expect(channel.notices.map(({ type }) => type)).toEqual(["approval.requested", "approval.edited"]);
    expect(channel.notices[1]?.approval).toMatchObject({ state: "pending", arguments: { to: "y" } });
  });

  it("gets only the events that it wants", async () => {
    const channel = recordingChannel({
      wants: ({ type, tenant }) => type === "approval.decided" && tenant === "default",
    });
    await using h = await fixtureWith(channel);
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await h.runtime.approvals.decide(approvalId, { decision: "denied", by: boss });
    await settled(20);
    expect(channel.notices.map(({ type }) => type)).toEqual(["approval.decided"]);
  });

  it("gets alarms that open and end, but no acknowledgements", async () => {
    const channel = recordingChannel();
    await using h = await fixtureWith(channel);
    await h.runtime.note("mcp.tool_changed", "`fs_read` changed", { data: { tool: "fs_read" } });
    await settled(20);
    const id = h.runtime.alarms.list()[0]?.id ?? "";
    await h.runtime.alarms.acknowledge(id, actor("ann"));
    await h.runtime.alarms.resolve(id, actor("ann"));
    await settled(20);
    expect(channel.notices.map(({ type }) => type)).toEqual(["alarm.opened", "alarm.resolved"]);
    expect(channel.notices[0]).toMatchObject({
      data: { alarm_id: id, severity: "warning" },
      summary: "`fs_read` changed",
    });
  });

  it("gets reminders and escalations", async () => {
    const channel = recordingChannel();
    const route = {
      match: {},
      to: {},
      remindBeforeMs: 600_000,
      escalateAfterMs: 1_800_000,
      escalateTo: { users: ["eve"] },
    };
    await using h = await fixtureWith(channel, { approvals: { patience: "suspend", routes: [route] } });
    const { approvalId } = await h.runtime.invoke(mail("x"), asker);
    for (let minute = 0; minute < 55; minute += 1) await h.clock.advance(60_000);
    await settled(20);
    expect(channel.notices.map(({ type }) => type)).toEqual([
      ...["approval.requested", "approval.escalated", "approval.expiring"],
    ]);
    expect(channel.notices.map(({ approval }) => approval?.id)).toEqual([approvalId, approvalId, approvalId]);
  });

  it("does not get a request that is decided before it is sent", async () => {
    const channel = recordingChannel();
    channel.answers.push(notTaken);
    await using h = await fixtureWith(channel);
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    await settled(20);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await settled(20);
    await h.clock.advance(60_000);
    expect(channel.notices.map(({ type }) => type)).toEqual(["approval.requested", "approval.decided"]);
    expect(channelOf(h)).toMatchObject({ waiting: 0 });
  });

  it("holds a hundred notices if nothing is delivered, and sends all in the end", async () => {
    let up = false;
    const seen = new Set<string>();
    const channel = recordingChannel({
      wants: ({ type }) => type === "approval.requested",
      deliver: async ({ id }) => {
        if (!up) return notTaken;
        seen.add(id);
        return { delivered: true };
      },
    });
    await using h = await fixtureWith(channel);
    for (let call = 0; call < 150; call += 1) await h.runtime.invoke(mail(`${call}`), asker);
    await settled(200);
    expect(channelOf(h)?.waiting).toBe(100);
    up = true;
    for (let minute = 0; minute < 10; minute += 1) await h.clock.advance(60_000);
    await settled(200);
    expect(seen.size).toBe(150);
  });

  it("is tested on demand, and an unknown one is not found", async () => {
    const channel = recordingChannel();
    await using h = await fixtureWith(channel);
    expect(await h.runtime.channels?.test("mine")).toEqual({ delivered: true });
    expect(channel.notices[0]).toMatchObject({ type: "channel.test" });
    channel.answers.push(new Error("no"));
    expect(await h.runtime.channels?.test("mine")).toEqual({ delivered: false, problem: "no" });
    expect(await h.runtime.channels?.test("other")).toBeUndefined();
  });

  it("gets an urgent notice if the store breaks", async () => {
    const channel = recordingChannel();
    const clock = new FakeClock();
    const store = new BreakingStore(clock, new Map());
    await using h = await fixtureWith(channel, { store, clock });
    store.why = new Error("the disk is full");
    for (const to of ["x", "y"])
      expect((await h.runtime.invoke({ tool: "echo", arguments: { to } }, asker)).refusal?.code).toBe(
        "audit_unavailable",
      );
    await settled(20);
    expect(channel.notices).toEqual([
      expect.objectContaining({ type: "alarm.opened", summary: expect.stringContaining("the disk is full") }),
    ]);
    expect(h.runtime.alarms.list()).toEqual([
      expect.objectContaining({ kind: "store_broken", severity: "critical", state: "open" }),
    ]);
    store.why = undefined;
  });

  it("is refused at start if its name is used twice", async () => {
    await expect(
      runtimeFixture({ channels: { also: [recordingChannel(), recordingChannel()] } }),
    ).rejects.toMatchObject({
      code: "options_invalid",
      message: expect.stringContaining("Two channels are called"),
    });
  });
});

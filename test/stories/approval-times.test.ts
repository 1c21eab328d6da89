import { describe, expect, it } from "vitest";
import type { ApprovalRoute } from "../../packages/postern/src/approvals/index.ts";
import { ann, approve, ask, bob, mail, routed } from "../fakes/deciders.ts";
import { eventTypes, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";
import { storeIn } from "../fakes/story-store.ts";

const files = sqliteFiles();

describe("a request over time", () => {
  const route: ApprovalRoute = {
    name: "slow",
    to: { users: ["ann"] },
    ttlMs: 60_000,
    remindBeforeMs: 10_000,
    escalateAfterMs: 30_000,
    escalateTo: { users: ["bob"] },
  };
  const messages = async (h: RuntimeFixture) =>
    (await eventTypes(h.runtime)).filter((type) => /reminder|escalated|expired/.test(type));

  it("escalates, reminds and expires, once each and in that order", async () => {
    await using h = await runtimeFixture(routed(route));
    const id = await ask(h);
    expect(await approve(h, id, bob)).toMatchObject({ code: "decider_not_allowed" });
    await h.clock.advance(30_000);
    expect(await messages(h)).toEqual(["approval.escalated"]);
    expect(await h.runtime.approvals.get(id)).toMatchObject({ state: "pending", escalatedAt: h.clock.now() });
    await h.clock.advance(29_999);
    expect(await messages(h)).toEqual(["approval.escalated", "approval.reminder"]);
    await h.clock.advance(1);
    expect(await messages(h)).toEqual(["approval.escalated", "approval.reminder", "gate.expired"]);
    const [escalated] = await h.runtime.audit.query({ type: "approval.escalated" });
    expect(escalated).toMatchObject({ data: { approval_id: id, to: { users: ["bob"] } } });
  });

  it("can be decided by the escalated people and by the earlier ones", async () => {
    await using h = await runtimeFixture(routed(route));
    const [first, second] = [await ask(h, mail("1")), await ask(h, mail("2"))];
    await h.clock.advance(30_000);
    expect(await approve(h, first, bob)).toMatchObject({ decided: true });
    expect(await approve(h, second, ann)).toMatchObject({ decided: true });
    await h.clock.advance(60_000);
    expect(await messages(h)).toEqual(["approval.escalated", "approval.escalated"]);
  });

  it("sends no reminder twice after a restart, and sends the missed ones", async () => {
    const options = { ...routed(route), ...storeIn(files.at("reminded.db")) };
    const before = await runtimeFixture(options);
    await ask(before);
    await before.clock.advance(30_000);
    await before.runtime.close();
    await using h = await runtimeFixture({ ...options, clock: before.clock });
    await before.clock.advance(10);
    await expect.poll(() => messages(h)).toEqual(["approval.escalated"]);
    await before.clock.advance(19_990);
    await expect.poll(() => messages(h)).toEqual(["approval.escalated", "approval.reminder"]);
    await before.clock.advance(10_000);
    const later = async () => {
      await before.clock.advance(1); // a timer that was armed after its time, as the disk was slow
      return messages(h);
    };
    await expect.poll(later).toEqual(["approval.escalated", "approval.reminder", "gate.expired"]);
  });

  it("keeps votes that came before a reminder", async () => {
    await using h = await runtimeFixture(routed({ quorum: 2, remindBeforeMs: 10_000, ttlMs: 60_000 }));
    const id = await ask(h);
    await approve(h, id, ann);
    await h.clock.advance(50_000);
    expect(await approve(h, id, bob)).toMatchObject({
      approval: { state: "approved", votes: [{ by: "ann" }, { by: "bob" }] },
    });
  });
});

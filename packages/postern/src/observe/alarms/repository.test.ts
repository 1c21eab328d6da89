import { describe, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock, settled } from "../../../../core/src/testing/clock.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import type { AlarmPage, Cause } from "./alarms.ts";
import { AlarmRepository } from "./repository.ts";

const cause: Cause = {
  kind: "tool_errors",
  key: "tool_errors/mail",
  tenant: "default",
  severity: "warning",
  summary: "`mail` failed 5 times in a row.",
  data: { tool: "mail" },
};

async function alarmsFixture(more: { clock?: FakeClock; store?: Store; log?: string[] } = {}): Promise<{
  readonly alarms: AlarmRepository;
  readonly clock: FakeClock;
  readonly store: Store;
  readonly received: () => Promise<readonly string[]>;
}> {
  const clock = more.clock ?? new FakeClock();
  const store = more.store ?? new MemoryStore({ clock, serialize: (event) => JSON.stringify(event) });
  const log = (problem: string): void => void more.log?.push(problem);
  const redact = (text: string): string => text.replaceAll("hunter2", "***");
  const alarms = await AlarmRepository.open({ store, clock, policy: { version: "p1" }, redact, log });
  const received = async (): Promise<readonly string[]> => {
    const types: string[] = [];
    for await (const { body } of store.events({ after: -1 })) types.push((JSON.parse(body) as { type: string }).type);
    return types;
  };
  return { alarms, clock, store, received };
}

const files = sqliteFiles();

describe("alarms", () => {
  it("are listed page by page, each once, also if one changes between", async () => {
    const { alarms, clock } = await alarmsFixture();
    for (let number = 0; number < 7; number += 1) {
      alarms.raise({ ...cause, key: `tool_errors/${number}` });
      await clock.advance(1_000);
    }
    const names = ({ alarms: some }: AlarmPage): readonly string[] => some.map(({ key }) => key);
    const first = alarms.page({ limit: 3 });
    expect(names(first)).toEqual(["tool_errors/6", "tool_errors/5", "tool_errors/4"]);
    alarms.raise({ ...cause, key: "tool_errors/4" });
    await alarms.resolve(first.alarms[0]?.id ?? "", actor("grace"));
    const second = alarms.page({ limit: 3, after: first.nextAfter ?? "" });
    expect(names(second)).toEqual(["tool_errors/3", "tool_errors/2", "tool_errors/1"]);
    const last = alarms.page({ limit: 3, after: second.nextAfter ?? "" });
    expect(names(last)).toEqual(["tool_errors/0", "tool_errors/6"]);
    expect(last.nextAfter).toBeUndefined();
    expect(() => alarms.page({ after: "tool_errors/4" })).toThrow(/`nextAfter`/);
  });

  it("are one for the same cause, with its count and times", async () => {
    const { alarms, clock, received } = await alarmsFixture();
    for (let time = 0; time < 100; time += 1) {
      alarms.raise(cause);
      await clock.advance(100);
    }
    expect(alarms.list()).toEqual([
      expect.objectContaining({
        state: "open",
        count: 100,
        firstSeen: clock.now() - 10_000,
        lastSeen: clock.now() - 100,
      }),
    ]);
    expect(await received()).toEqual(["alarm.tool_errors"]);
  });

  it("count causes that come before the first is written", async () => {
    const { alarms, received } = await alarmsFixture();
    for (let time = 0; time < 1_000; time += 1) alarms.raise(cause);
    await settled();
    expect(alarms.list()[0]?.count).toBe(1_000);
    expect(await received()).toEqual(["alarm.tool_errors"]);
  });

  it("are separate for another tenant and another key", async () => {
    const { alarms } = await alarmsFixture();
    for (const one of [cause, { ...cause, tenant: "acme" }, { ...cause, key: "tool_errors/send" }]) alarms.raise(one);
    await settled();
    expect(new Set(alarms.list().map(({ id }) => id)).size).toBe(3);
    expect(alarms.list({ tenant: "acme" })).toHaveLength(1);
  });

  it("go from open to acked to resolved, each with its event, and open again", async () => {
    const { alarms, received } = await alarmsFixture();
    alarms.raise(cause);
    await settled();
    const id = alarms.list()[0]?.id ?? "";
    expect(await alarms.acknowledge(id, actor("ann"), "looking")).toMatchObject({
      changed: true,
      alarm: { state: "acked", acked: { by: "ann", reason: "looking" } },
    });
    alarms.raise(cause);
    await settled();
    expect(alarms.get(id)).toMatchObject({ state: "acked", count: 2 });
    expect(await alarms.resolve(id, actor("ann"))).toMatchObject({
      changed: true,
      alarm: { state: "resolved", count: 2 },
    });
    expect(await alarms.resolve(id, actor("bob"))).toMatchObject({ changed: false, why: "alarm_resolved" });
    expect(await alarms.acknowledge(id, actor("bob"))).toMatchObject({ changed: false, why: "alarm_resolved" });
    alarms.raise(cause);
    await settled();
    expect(alarms.get(id)).toMatchObject({ state: "open", count: 1 });
    expect(alarms.get(id)?.acked).toBeUndefined();
    expect(await received()).toEqual([
      "alarm.tool_errors",
      "alarm.acknowledged",
      "alarm.resolved",
      "alarm.tool_errors",
    ]);
  });

  it("are acknowledged once, and unknown ids are refused", async () => {
    const { alarms, received } = await alarmsFixture();
    alarms.raise(cause);
    await settled();
    const id = alarms.list()[0]?.id ?? "";
    await Promise.all(["ann", "bob"].map((by) => alarms.acknowledge(id, actor(by))));
    expect(alarms.get(id)?.acked?.by).toBe("ann");
    expect((await received()).filter((type) => type === "alarm.acknowledged")).toHaveLength(1);
    expect(await alarms.resolve("alm_none", actor("ann"))).toMatchObject({ changed: false, why: "alarm_unknown" });
    await expect(alarms.acknowledge(id, actor(""))).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringContaining("`by` of the actor is"),
    });
  });

  it("are resolved when their cause ends", async () => {
    const { alarms, received } = await alarmsFixture();
    alarms.settle("default", cause.key, "nothing was");
    alarms.raise(cause);
    alarms.settle("default", cause.key, "it succeeded again");
    await settled();
    expect(alarms.list()).toEqual([
      expect.objectContaining({
        state: "resolved",
        resolved: { at: expect.any(Number), reason: "it succeeded again" },
      }),
    ]);
    expect(alarms.isQuiet).toBe(true);
    expect(await received()).toEqual(["alarm.tool_errors", "alarm.resolved"]);
  });

  it("exist after a restart, with their counts", async () => {
    const clock = new FakeClock();
    const open = (): Store => files.openAt("alarms.db", { clock });
    const store = open();
    const first = await alarmsFixture({ clock, store });
    for (let time = 0; time < 3; time += 1) first.alarms.raise(cause);
    await first.alarms[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    const again = open();
    const second = await alarmsFixture({ clock, store: again });
    expect(second.alarms.list()).toEqual([expect.objectContaining({ state: "open", count: 3 })]);
    second.alarms.raise(cause);
    await settled();
    expect(second.alarms.list()[0]?.count).toBe(4);
    await again[Symbol.asyncDispose]();
  });

  it("count on from the stored count after a crash", async () => {
    const { alarms, store, clock } = await alarmsFixture();
    for (let time = 0; time < 3; time += 1) alarms.raise(cause);
    await settled();
    await alarms.acknowledge(alarms.list()[0]?.id ?? "", actor("ann"));
    for (let time = 0; time < 5; time += 1) alarms.raise(cause);
    const second = await alarmsFixture({ clock, store });
    second.alarms.raise(cause);
    expect(second.alarms.list()).toEqual([expect.objectContaining({ state: "acked", count: 4 })]);
  });

  it("hold no secret and no long text", async () => {
    const { alarms } = await alarmsFixture();
    alarms.raise({ ...cause, summary: "with hunter2", data: { last_error: `hunter2${"x".repeat(10_000)}` } });
    await settled();
    const text = JSON.stringify(alarms.list());
    expect(text).not.toContain("hunter2");
    expect(text.length).toBeLessThan(2_000);
  });

  it("are refused and logged if there are too many", async () => {
    const log: string[] = [];
    const { alarms } = await alarmsFixture({ log });
    for (let key = 0; key < 5_001; key += 1) alarms.raise({ ...cause, key: `k${key}` });
    await settled(50);
    for (let key = 5_001; key < 5_003; key += 1) alarms.raise({ ...cause, key: `k${key}` });
    expect(log.length).toBeGreaterThan(0);
  });
});

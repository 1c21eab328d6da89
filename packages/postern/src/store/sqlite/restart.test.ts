import type { ApprovalRecord } from "@postern/core";
import { describe, expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  holdOf,
  hourMs,
  note,
  recordOf,
  settleOf,
} from "../../testing/records.ts";

const { openAt } = sqliteFiles();

describe("SqliteStore over restarts", () => {
  it("strands what another incarnation attempted, until it is settled as unknown (case 164)", async () => {
    const clock = new FakeClock();
    let store = openAt("stranded.db", { clock });
    const [lost, done] = [recordOf(callOf(clock), { match: "m", fence: store.incarnation }), recordOf(callOf(clock))];
    await store.commit(claimOf(lost), "synced");
    await store.commit(claimOf(done), "synced");
    await store.commit(settleOf({ ...done, fence: store.incarnation }, "ok"), "synced");
    await store[Symbol.asyncDispose]();

    store = openAt("stranded.db", { clock });
    expect(await store.stranded()).toEqual([lost]);
    expect(await store.call({ match: "m" })).toMatchObject({ key: lost.key, state: "attempted" });
    expect(await store.commit(settleOf(lost, "unknown"), "committed")).toEqual({ won: true });
    expect(await store.stranded()).toEqual([]);
    expect(await store.call({ match: "m" })).toMatchObject({ state: "unknown" });
    await store[Symbol.asyncDispose]();

    store = openAt("stranded.db", { clock });
    expect(await store.stranded()).toEqual([]);
    expect(await store.call({ match: "m" })).toMatchObject({ key: lost.key, state: "unknown" });
    await store[Symbol.asyncDispose]();
  });

  it.each([
    ["is still running", false],
    ["was held all the while and claimed at the end", true],
  ])("finds a stranded call after 25,000 newer ones were done, when it %s", async (_, isHeld) => {
    const clock = new FakeClock();
    const name = `watermark-${isHeld}.db`;
    let store = openAt(name, { clock });
    const early = recordOf(callOf(clock), { match: "early", approvalId: "apr_1" });
    if (isHeld) await store.commit(holdOf({ ...early, state: "held" }, approvalOf(early)), "committed");
    else await store.commit(claimOf(early), "committed");
    for (let i = 0; i < 25_000; i += 1) {
      const record = recordOf(callOf(clock), { fence: store.incarnation });
      void store.commit(claimOf(record, { fresh: true }), "queued");
      const settled = store.commit(settleOf(record, "ok"), "committed");
      if (i % 500 === 0) await settled;
    }
    if (isHeld) await store.commit(claimOf(early), "committed");
    await store[Symbol.asyncDispose]();
    store = openAt(name, { clock });
    expect((await store.stranded()).map(({ key }) => key)).toEqual([early.key]);
    await store[Symbol.asyncDispose]();
  });

  it("remembers what a re-send may find: held, suspended, and within its lifetime; not what is over", async () => {
    const clock = new FakeClock();
    let store = openAt("live.db", { clock });
    const hold = async (match: string, aliveUntil: number | undefined): Promise<ApprovalRecord> => {
      const record = recordOf(callOf(clock), {
        state: "held",
        match,
        approvalId: `apr_${match}`,
        aliveUntil,
      });
      await store.commit(holdOf(record, approvalOf(record)), "committed");
      return approvalOf(record);
    };
    await hold("endless", undefined);
    await hold("short", clock.now() + 1_000);
    await store.commit(decideOf(await hold("withdrawn", clock.now() + hourMs), "withdrawn"), "committed");
    const done = recordOf(callOf(clock), {
      match: "done",
      aliveUntil: clock.now() + hourMs,
      fence: store.incarnation,
    });
    const script = recordOf(callOf(clock), {
      match: "script",
      aliveUntil: clock.now() + 1,
      fence: store.incarnation,
    });
    for (const record of [done, script]) await store.commit(claimOf(record), "committed");
    await store.commit(settleOf(done, "ok"), "committed");
    await store.commit(settleOf(script, "suspended"), "committed");
    await clock.advance(1_000);
    const found = (): Promise<readonly (string | undefined)[]> =>
      Promise.all(
        ["endless", "short", "withdrawn", "done", "script"].map(async (match) => (await store.call({ match }))?.state),
      );
    const expected = ["held", undefined, undefined, "ok", "suspended"];
    expect(await found()).toEqual(expected);
    await store[Symbol.asyncDispose]();
    store = openAt("live.db", { clock });
    expect(await found()).toEqual(expected);
    await clock.advance(hourMs);
    expect(await found()).toEqual(["held", undefined, undefined, undefined, "suspended"]);
    await store[Symbol.asyncDispose]();
  });

  it("goes on counting events where the last incarnation ended", async () => {
    const clock = new FakeClock();
    const incarnations = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      await using store = openAt("counting.db", { clock });
      incarnations.add(store.incarnation);
      await store.commit(claimOf(recordOf(callOf(clock)), { fresh: true }), "synced");
      expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual(
        Array.from({ length: round + 1 }, (_, i) => i),
      );
    }
    expect(incarnations.size).toBe(3);
  });

  it("writes on close what is still queued", async () => {
    const store = openAt("queued.db");
    void store.commit(note("queued"), "queued");
    await store[Symbol.asyncDispose]();
    const again = openAt("queued.db");
    expect(await all(again.events({ after: -1 }))).toHaveLength(1);
    await again[Symbol.asyncDispose]();
  });
});

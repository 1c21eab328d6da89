import { describe, expect, it } from "vitest";
import { countedSyncs } from "../../../../../test/fakes/counted-syncs.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { note } from "../../testing/records.ts";

const { openAt } = sqliteFiles();

describe("a store on a file", () => {
  it("syncs writes without a waiting caller a tenth of a second later, once", async () => {
    const clock = new FakeClock();
    await using store = openAt("lazy.db", { clock });
    await store.commit(note("a"), "committed");
    await store.commit(note("b"), "committed");
    expect(clock.waiting).toBe(1);
    await clock.advance(100);
    expect(clock.waiting).toBe(0);
  });

  it("syncs what was committed during a sync, also when its tenth of a second is over before that sync is", async () => {
    using syncs = countedSyncs();
    const due: (() => void)[] = [];
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      in: (_ms: number, then: () => void) => {
        due.push(then);
        return () => {};
      },
    };
    await using store = openAt("late.db", { clock });
    await store.commit(note("a"), "committed");
    const waits = store.commit(note("b"), "synced");
    await Promise.resolve();
    await Promise.resolve();
    expect(syncs.begun).toBe(1);
    await store.commit(note("c"), "committed"); // the loop has not turned: that sync is not over
    due.shift()?.();
    await waits;
    expect([syncs.begun, due.length]).toEqual([2, 0]);
  });
});

import { join } from "node:path";
import type { CallRecord } from "@postern/core";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  holdOf,
  recordOf,
  serializePlainly,
  settleOf,
} from "../../testing/records.ts";
import { openDatabase } from "./open.ts";
import { SqliteStore } from "./sqlite-store.ts";

const folder = ownFolder();
const clock = new FakeClock();

/** One after another: a held call, a claimed one, and its end. @returns the keys of what was acknowledged, and of what was refused */
async function write(
  store: SqliteStore,
  times: number,
): Promise<{ kept: Map<string, CallRecord["state"]>; refused: CallRecord[] }> {
  const kept = new Map<string, CallRecord["state"]>();
  const refused: CallRecord[] = [];
  for (let i = 0; i < times; i += 1) {
    const held = recordOf(callOf(clock, { arguments: { text: "x".repeat(1500) } }), {
      state: "held",
      match: `m${i}`,
      approvalId: `apr_${i}`,
    });
    const claimed = recordOf(callOf(clock), { fence: store.incarnation });
    for (const [record, writes] of [
      [held, [holdOf(held, approvalOf(held))]],
      [claimed, [claimOf(claimed), settleOf(claimed, "ok")]],
    ] as const) {
      for (const each of writes) {
        const committed = await Promise.resolve(store.commit(each, "synced")).catch(({ code }) => code);
        if (committed === "store_unwritable") refused.push(record);
        else if (committed.won) kept.set(record.key, each.write === "settle" ? "ok" : record.state);
      }
    }
  }
  return { kept, refused };
}

it("loses nothing acknowledged and leaves no trace of what was refused, wherever the disk is full, and works again with room (case 198)", async () => {
  let fullRounds = 0;
  for (let room = 0; ; room += 1) {
    const opened = openDatabase(join(folder, `${room}.db`), () => {});
    const pages = Number(Object.values(opened.database.prepare("pragma page_count").get() ?? {})[0]);
    opened.database.exec(`pragma max_page_count = ${pages + room}`);
    await using store = new SqliteStore(opened, { clock, serialize: serializePlainly });
    const { kept, refused } = await write(store, 6);
    for (const [key, state] of kept) expect((await store.call({ key }))?.state).toBe(state);
    for (const { key, match = "", approvalId = "" } of refused) {
      expect((await store.call({ key }))?.state).toBe(kept.get(key));
      expect(await store.call({ match })).toBeUndefined();
      expect(await store.approval(approvalId)).toBeUndefined();
    }
    const settled = [...kept.values()].filter((state) => state === "ok").length;
    expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual(
      Array.from({ length: kept.size + settled }, (_, i) => i),
    );
    if (refused.length === 0) break;
    fullRounds += 1;
    opened.database.exec("pragma max_page_count = 4294967294");
    expect((await write(store, 2)).refused).toEqual([]);
    expect(opened.database.prepare("pragma integrity_check").get()).toEqual({
      integrity_check: "ok",
    });
  }
  expect(fullRounds).toBeGreaterThan(5);
}, 60_000);

import { expect, it } from "vitest";
import { callOf, recordOf, spellPlainly } from "../../test/contracts/records.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { LiveMatches } from "./live-matches.ts";
import { MapStore } from "./map-store.ts";

const clock = new FakeClock();
const store = new MapStore({ clock, spell: spellPlainly });
const now = (): number => clock.now();

it("forgets what is over when it has grown, and keeps what is not", async () => {
  const live = new LiveMatches();
  const stays = recordOf(callOf(store, clock), { match: "stays", state: "held" });
  live.moved(undefined, stays, now);
  for (let i = 0; i < 5_000; i += 1) {
    const over = { state: "ok", match: `m${i}`, aliveUntil: clock.now() + 1 } as const;
    live.moved(undefined, recordOf(callOf(store, clock), over), now);
    await (i % 1000 === 0 ? clock.advance(1) : undefined);
  }
  expect(live.size).toBeLessThan(2_100);
  expect(live.find("stays", now)).toBe(stays.key);
  expect(live.find("m4999", now)).toBeDefined();
  expect(live.find("m1", now)).toBeUndefined();
});

it("finds the earliest that is not left out", () => {
  const live = new LiveMatches();
  const rows = [1, 2].map(() => recordOf(callOf(store, clock), { match: "a", state: "held" }));
  for (const row of rows) live.moved(undefined, row, now);
  const [first, second] = rows.map(({ key }) => key);
  expect(live.find("a", now)).toBe(first);
  expect(live.find("a", now, new Set(first))).toBe(first);
  expect(live.find("a", now, new Set([first ?? ""]))).toBe(second);
  expect(live.find("a", now, new Set([first ?? "", second ?? ""]))).toBeUndefined();
});

it("follows a row from one match to another and out", () => {
  const live = new LiveMatches();
  const row = recordOf(callOf(store, clock), { match: "a", state: "held" });
  live.moved(undefined, row, now);
  live.moved(row, { ...row, match: "b" }, now);
  expect([live.find("a", now), live.find("b", now)]).toEqual([undefined, row.key]);
  live.moved({ ...row, match: "b" }, undefined, now);
  expect(live.size).toBe(0);
});

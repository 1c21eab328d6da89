import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { aLogStore, bent } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import type { AuditFilter } from "./log.ts";
import { latestEvents, queryEvents } from "./query.ts";
import { Times, timeOf } from "./times.ts";

const start = Date.UTC(2026, 10, 20, 12);

/** A log whose entries are of these times, and how many of them were read. */
async function logOf(times: readonly number[]): Promise<{ readonly log: Asked; readonly read: () => number }> {
  const store = aLogStore(new FakeClock());
  const event = { moment: "noted", type: "test.note", summary: "", traceId: "t", policyVersion: "p1" } as const;
  const write = (at: number) => store.commit({ write: "note", event: { ...event, outcome: "info", at } }, "committed");
  await Promise.all(times.map(write));
  let read = 0;
  const counting: Store = bent(store, {
    events: async function* (where) {
      for await (const entry of store.events(where)) {
        read += 1;
        yield entry;
      }
    },
  });
  const log = { store: counting, times: new Times(counting), keyId: "ab12cd34", size: times.length };
  const since = read;
  return { log, read: () => read - since };
}
type Asked = Parameters<typeof queryEvents>[0];

/** Old to new, and new to old: the same events. */
async function found(log: Asked, where: Pick<AuditFilter, "since" | "until">): Promise<readonly number[]> {
  const forth = (await queryEvents(log, { ...where, limit: 100_000 })).map(({ seq }) => seq);
  const back: number[] = [];
  for (let before: number | undefined = log.size; before !== undefined; ) {
    const page = await latestEvents(log, { ...where, before, limit: 1_000 });
    back.push(...page.events.map(({ seq }) => seq));
    before = page.nextBefore;
  }
  expect(back.toReversed()).toEqual(forth);
  return forth;
}

const minutes = (count: number, from = 0) => Array.from({ length: count }, (_, i) => start + (from + i) * 60_000);

describe("a window of time", () => {
  it("is not read again before `after`, and is read around a missing entry", async () => {
    const { log } = await logOf(minutes(1_200));
    expect(await queryEvents(log, { until: start + 9 * 60_000, after: 600 })).toEqual([]);
    const holed = bent(log.store as Store, {
      events: async function* ({ after, limit = Number.POSITIVE_INFINITY }) {
        let left = limit;
        for await (const entry of log.store.events({ after })) {
          if (entry.seq === 512) continue;
          if (left === 0) return;
          left -= 1;
          yield entry;
        }
      },
    });
    const asked = { ...log, store: holed, times: new Times(holed) };
    const window = { since: start + 510 * 60_000, until: start + 514 * 60_000 };
    expect((await queryEvents(asked, window)).map(({ seq }) => seq)).toEqual([510, 511, 513, 514]);
  });

  it("is found by reading few other entries, even in a long log", async () => {
    const { log, read } = await logOf(minutes(20_000));
    const [since, until] = [start + 9_000 * 60_000, start + 9_099 * 60_000];
    expect(await found(log, { since, until })).toEqual(Array.from({ length: 100 }, (_, i) => 9_000 + i));
    expect(read()).toBeLessThan(40 + 2 * 1_100); // a look at every 512th, then two stretches, once each way
    const before = read();
    expect(await found(log, { since: start + 19_990 * 60_000 })).toHaveLength(10);
    expect(await found(log, { until: start + 9 * 60_000 })).toHaveLength(10);
    expect(await found(log, { since: start + 30_000 * 60_000, until: start + 30_001 * 60_000 })).toEqual([]);
    expect(read() - before).toBeLessThan(6 * 600);
  });

  it("continues at the right place from page to page", async () => {
    const { log } = await logOf(minutes(5_000));
    const where = { since: start + 1_000 * 60_000, until: start + 3_999 * 60_000 };
    const seen: number[] = [];
    for (let after = -1; ; ) {
      const page = await queryEvents(log, { ...where, after, limit: 700 });
      seen.push(...page.map(({ seq }) => seq));
      after = page.at(-1)?.seq ?? after;
      if (page.length < 700) break;
    }
    expect(seen).toEqual(Array.from({ length: 3_000 }, (_, i) => 1_000 + i));
  });

  it("misses nothing if the clock was set back or was wrong for a while", async () => {
    const times = [
      ...minutes(1_500),
      ...Array.from({ length: 1_500 }, (_, i) => i * 60_000), // 1970, until somebody noticed
      ...minutes(1_500, 1_200),
    ];
    const { log } = await logOf(times);
    const all = (since: number, until: number) => times.flatMap((at, seq) => (at >= since && at <= until ? [seq] : []));
    for (const [from, to] of [
      [0, 50],
      [1_150, 1_450],
      [1_300, 2_600],
      [2_690, 9_000],
    ] as const) {
      const [since, until] = [start + from * 60_000, start + to * 60_000];
      expect(await found(log, { since, until }), `${from} to ${to}`).toEqual(all(since, until));
    }
    expect(await found(log, { until: 86_400_000 })).toEqual(all(0, 86_400_000));
  });

  it("misses no entry that was committed seconds before one of an earlier time", async () => {
    const times = minutes(1_100).map((at, seq) => (seq === 511 ? at + 65_000 : at)); // five seconds after entry 512
    const { log } = await logOf(times);
    const late = start + 512 * 60_000 + 5_000;
    expect(await found(log, { since: late, until: late })).toEqual([511]);
  });

  it("misses nothing if entries of a few seconds were committed in any order", async () => {
    const late = fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 1_100, maxLength: 1_100 });
    const window = fc.tuple(fc.integer({ min: 0, max: 1_100_000 }), fc.integer({ min: 0, max: 400_000 }));
    await fc.assert(
      fc.asyncProperty(late, window, async (delays, [from, length]) => {
        const times = delays.map((delay, i) => start + i * 1_000 - delay);
        const { log } = await logOf(times);
        const [since, until] = [start + from, start + from + length];
        const wanted = times.flatMap((at, seq) => (at >= since && at <= until ? [seq] : []));
        expect(await found(log, { since, until })).toEqual(wanted);
      }),
      { numRuns: 15 },
    );
  });

  it("finds entries that were added since the last query", async () => {
    const { log } = await logOf(minutes(2_000));
    expect(await found({ ...log, size: 600 }, { until: start + 60_000 })).toEqual([0, 1]);
    expect(await found(log, { since: start + 1_998 * 60_000 })).toEqual([1_998, 1_999]);
  });

  it("is searched everywhere if an entry has no time", async () => {
    const { log } = await logOf(minutes(2_000));
    const changed = bent(log.store as Store, {
      events: async function* (where) {
        for await (const entry of log.store.events(where)) yield entry.seq === 512 ? { ...entry, body: "{}" } : entry;
      },
    });
    const asked = { ...log, store: changed, times: new Times(changed) };
    expect(await found(asked, { since: start + 513 * 60_000, until: start + 514 * 60_000 })).toEqual([513, 514]);
    expect(await found(asked, { since: start + 511 * 60_000, until: start + 512 * 60_000 })).toEqual([511]);
  });
});

it("reads an entry's time from its own field, not from its data", () => {
  const body = '{"data":{"timestamp":"2020-01-01T00:00:00.000Z","x":",\\"timestamp\\":\\"1999"},"tenant":"default",';
  expect(timeOf(`${body}"timestamp":"2026-11-20T12:00:00.001Z","trace_id":",\\"timestamp\\":\\"1"}`)).toBe(start + 1);
  expect(timeOf("{}")).toBeNaN();
});

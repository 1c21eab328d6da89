import { beforeEach, describe, expect, it } from "vitest";
import { aLogStore, noteSome } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import { openAuditLog } from "./audit-log.ts";
import type { LatestFilter } from "./log.ts";
import { latestEvents } from "./query.ts";
import { createSigner } from "./signer.ts";
import { Times } from "./times.ts";

let clock = new FakeClock();
let store: Store = aLogStore(clock);

beforeEach(() => {
  clock = new FakeClock();
  store = aLogStore(clock);
});

const asked = (size: number) => ({ store, times: new Times(store), keyId: "ab12cd34", size });
const numbers = async (size: number, where: LatestFilter = {}): Promise<readonly number[]> =>
  (await latestEvents(asked(size), where)).events.map(({ seq }) => seq);
const note = (more: object) =>
  store.commit(
    {
      write: "note",
      event: {
        ...{ moment: "noted", at: 0, type: "test.rare", summary: "", traceId: "t", policyVersion: "p1" },
        ...{ outcome: "info", ...more },
      } as never, // a note of the test's own
    },
    "committed",
  );

describe("the latest events", () => {
  it("come new to old, page by page, each once", async () => {
    await noteSome(store, 1300);
    await using log = await openAuditLog({ store, clock, signer: createSigner() });
    const seen: number[] = [];
    let before: number | undefined;
    do {
      const page = await log.latest({ limit: 100, ...(before !== undefined && { before }) });
      seen.push(...page.events.map(({ seq }) => seq));
      before = page.nextBefore;
    } while (before !== undefined);
    expect(seen).toEqual(Array.from({ length: 1300 }, (_, i) => 1299 - i));
  });

  it("are 100 by default, and none of an empty log", async () => {
    expect(await numbers(0)).toEqual([]);
    await noteSome(store, 150);
    expect(await numbers(150)).toHaveLength(100);
    expect(await numbers(150, { before: 9999, limit: 1 })).toEqual([149]);
    expect(await numbers(150, { before: 0 })).toEqual([]);
  });

  it("return a short page for rare events, and say where to continue", async () => {
    await note({ type: "test.rare" });
    await noteSome(store, 10_000);
    const size = 10_001;
    const first = await latestEvents(asked(size), { type: "test.rare" });
    expect(first).toEqual({ events: [], nextBefore: size - 8_192 });
    const before = first.nextBefore ?? 0;
    const second = await latestEvents(asked(size), { type: "test.rare", before });
    expect(second.events.map(({ seq }) => seq)).toEqual([0]);
    expect(second.nextBefore).toBeUndefined();
  });

  it("are filtered by agent and by any text in them", async () => {
    await noteSome(store, 3);
    await note({ principal: { tenant: "default", agent: "ann" }, summary: 'said "hello"\n' });
    await note({ principal: { tenant: "default", agent: "bob" }, data: { agent: "ann" } });
    expect(await numbers(5, { agent: "ann" })).toEqual([3]);
    expect(await numbers(5, { text: 'said "hello"\n' })).toEqual([3]);
    expect(await numbers(5, { text: "note 1" })).toEqual([1]);
    expect(await numbers(5, { text: "nowhere" })).toEqual([]);
  });
});

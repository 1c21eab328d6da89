/** A script's calls are recorded before anything outside can depend on them, and its reads share transactions. */
import { copyFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { openDatabase } from "../../packages/postern/src/store/sqlite/open.ts";
import { openSqliteStore, SqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { countedSyncs } from "../fakes/counted-syncs.ts";
import { traceOf } from "../fakes/effect-tools.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const { at } = sqliteFiles();
const serialize = serializeWith((text) => text);
const chains = { engines: ["quickjs"], limits: { maxRiskUnapproved: "high", maxToolCalls: 200 } } as const;
const reads = (count: number): string =>
  `for (let i = 0; i < ${count}; i++) await tools.echo({ to: "x".repeat(900) + i });`;

/** A runtime whose tool `write` has an effect. */
function open(
  store: SqliteStore,
  { onWrite = () => {}, ...options }: RuntimeOptions & { readonly onWrite?: () => unknown } = {},
  more: Parameters<typeof runtimeFixture>[1] = [],
): Promise<RuntimeFixture> {
  const input = { type: "object" } as const;
  const write = {
    name: "write",
    description: "Has an effect.",
    risk: "safe",
    effects: "write",
    idempotent: false,
  } as const;
  return runtimeFixture({ clock: new FakeClock(), store, chains, ...options }, [
    {
      ...write,
      input,
      execute: async () => {
        await onWrite();
        return "written";
      },
    },
    ...more,
  ]);
}

function opened(name: string, clock = new FakeClock()) {
  const database = openDatabase(at(name), () => {});
  return { database: database.database, store: new SqliteStore(database, { clock, serialize }) };
}

describe("a script on a disk", () => {
  it("of reads alone waits for no disk, and its reads share a few transactions", async () => {
    using syncs = countedSyncs();
    const { store } = opened("reads.db");
    await using h = await open(store);
    const begunBefore = syncs.begun;
    const batches: number[] = [];
    using _ = store.follow((entries) => batches.push(entries.length));
    const { status } = await h.runtime.runChain({ code: reads(40) }, asker);
    expect([status, syncs.begun]).toEqual(["ok", begunBefore]);
    expect(batches.length).toBeLessThan(5);
    expect(await h.runtime.calls.list({ tool: "echo" })).toHaveLength(40);
    expect(batches.reduce((sum, count) => sum + count)).toBe(2 * 41);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it("has all earlier calls on the disk when a call with an effect starts", async () => {
    using syncs = countedSyncs();
    const { store } = opened("effect.db");
    let [begun, ended] = [0, 0];
    const onWrite = (): void => {
      [begun, ended] = [syncs.begun, syncs.ended];
      for (const end of ["", "-wal"]) copyFileSync(`${at("effect.db")}${end}`, `${at("lost-power.db")}${end}`);
    };
    await using h = await open(store, { onWrite });
    const { status } = await h.runtime.runChain({ code: `${reads(3)} await tools.write({});` }, asker);
    expect(status).toBe("ok");
    expect([begun, ended]).toEqual([1, 1]);
    await using found = openSqliteStore({ location: at("lost-power.db"), clock: new FakeClock(), serialize });
    const rows = (await found.calls({})).map(({ call, state }) => `${call.tool} ${state}`);
    expect(rows).toEqual(["write attempted", "echo ok", "echo ok", "echo ok", "tool_chain attempted"]);
  });

  it("has each outcome on the disk before it receives it, if the runtime is strict", async () => {
    using syncs = countedSyncs();
    const { store } = opened("strict.db");
    await using h = await open(store, { durability: "strict" });
    expect((await h.runtime.runChain({ code: reads(5) }, asker)).status).toBe("ok");
    expect(syncs.ended).toBeGreaterThanOrEqual(6);
  });
});

describe("a script whose reads cannot be recorded", () => {
  /** From the first read after the effect on, writes fail until the store has tried to write the other reads. */
  async function failing(name: string) {
    const { database, store } = opened(name);
    let [effects, isFull] = [0, false];
    const onWrite = (): void => {
      effects += 1;
      isFull = effects === 1;
    };
    const commit = store.commit.bind(store);
    store.commit = (write, durability) => {
      if (isFull && durability === "buffered") database.exec("pragma query_only = 1");
      return commit(write, durability);
    };
    const flush = store.flush.bind(store);
    store.flush = async () => {
      await flush();
      database.exec("pragma query_only = 0");
      isFull = false;
    };
    return { h: await open(store, { onWrite }), effects: () => effects };
  }

  it.each([
    ["in its middle", 90, 67],
    ["at its end", 2, 5],
  ])(
    "%s is stopped, and continues when it is sent again; no effect happens twice",
    async (_where, count, calledBefore) => {
      const { h, effects } = await failing(`full-${count}.db`);
      await using _ = h;
      const code = `${reads(2)} await tools.write({}); ${reads(count)} return "end";`;
      const keyed = { ...asker, idempotencyKey: "k" };
      const outcome = await h.runtime.runChain({ code }, keyed);
      expect(resultOf(outcome)).toMatchObject({ status: "error", error_kind: "unrecorded", tool_calls: calledBefore });
      expect(outcome.refusal).toMatchObject({ retry: "later" });
      expect(outcome.text).toContain("send the same call again");
      const again = await h.runtime.runChain({ code }, keyed);
      expect(resultOf(again)).toMatchObject({ status: "ok", output_text: "end" });
      expect(effects()).toBe(1);
      expect(traceOf(again)).toHaveLength(count + 3);
      expect(await h.runtime.calls.list({ tool: "echo", limit: 200 })).toHaveLength(count + 2);
      expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
    },
  );

  it("has no more effects, whatever it catches", async () => {
    const { database, store } = opened("lost-first.db");
    let isFirst = true;
    const lose = {
      name: "lose",
      description: "Nothing read so far is kept.",
      risk: "safe",
      effects: "read",
      idempotent: true,
      input: { type: "object" },
      execute: async () => {
        if (isFirst) database.exec("pragma query_only = 1");
        isFirst = false;
        await store.flush();
        database.exec("pragma query_only = 0");
        return "lost";
      },
    } as const;
    const effects: string[] = [];
    await using h = await open(store, { onWrite: () => effects.push("write") }, [lose]);
    const code = `${reads(2)} try { await tools.lose({}); } catch {} await tools.write({}); return "end";`;
    const outcome = await h.runtime.runChain({ code }, asker);
    expect([resultOf(outcome)["error_kind"], effects]).toEqual(["unrecorded", []]);
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ status: "ok", output_text: "end" });
    expect(effects).toEqual(["write"]);
  });
});

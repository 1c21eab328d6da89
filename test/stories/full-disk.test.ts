import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { StoreWrite } from "../../packages/core/src/records.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { RuntimeFault, type ToolOutcome } from "../../packages/postern/src/index.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import { openDatabase } from "../../packages/postern/src/store/sqlite/open.ts";
import { SqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import type { Committed, Durability } from "../../packages/postern/src/store/store.ts";
import { PointStore } from "../crash/points.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const folder = ownFolder();

describe("a disk that is full from the Nth write on", () => {
  /** Runs one runtime with its calls; records every answer in order. */
  async function live(room: number): Promise<{ readonly refused: number; readonly clean: boolean }> {
    const clock = new FakeClock();
    let writes = 0;
    class SmallStore extends PointStore {
      override async commit(write: StoreWrite, durability: Durability): Promise<Committed> {
        writes += 1;
        if (writes > room) throw new RuntimeFault("store_unwritable", "the disk is full");
        return super.commit(write, durability);
      }
    }
    const store = new SmallStore(new MemoryStore({ clock, serialize: serializeWith((text) => text) }), () => {});
    await using h = await runtimeFixture({ clock, store });
    const answers: string[] = [];
    const paid = new Map<string, string>();
    const say = async (what: Promise<ToolOutcome | undefined>): Promise<string> => {
      const running = what.then(
        (came) => came?.refusal?.code ?? came?.status ?? "none",
        (error: unknown) => `rejected ${String((error as Error).message)}`,
      );
      for (let i = 0; i < 4; i += 1) await clock.advance(600); // a settle is tried again
      const output = await running;
      answers.push(output);
      return output;
    };
    for (const to of ["a", "b"]) {
      const keyed = { ...asker, idempotencyKey: to };
      await say(h.runtime.invoke({ tool: "echo", arguments: { to } }, asker));
      const before = h.ran.length;
      await say(h.runtime.invoke({ tool: "mail", arguments: { to } }, keyed));
      const [open] = await h.runtime.approvals.list({ state: "pending" });
      if (open !== undefined)
        await h.runtime.approvals
          .decide(open.id, { decision: "approved", by: boss })
          .catch(() => answers.push("rejected"));
      const output = await say(h.runtime.invoke({ tool: "mail", arguments: { to } }, keyed));
      if (output === "ok") paid.set(to, open?.key ?? "");
      const effects = h.ran.length - before;
      expect(effects).toBeLessThanOrEqual(1);
      if (["audit_unavailable", "internal", "pending"].includes(output)) expect(effects, output).toBe(0);
    }
    room = Number.POSITIVE_INFINITY;
    for (const [to, key] of paid) expect(await h.runtime.calls.get(key), to).toMatchObject({ state: "ok" });
    const effects = h.ran.filter(({ to }) => to === "c").length;
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "c" } }, asker)).status).toBe("ok");
    expect(h.ran.filter(({ to }) => to === "c")).toHaveLength(effects + 1);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
    const bad = answers.filter((answer) => !["ok", "pending"].includes(answer));
    for (const answer of bad)
      expect(["audit_unavailable", "outcome_unknown", "in_progress", "rejected"]).toContain(answer);
    return { refused: bad.length, clean: bad.length === 0 };
  }

  it("loses nothing acknowledged for every N, runs nothing refused, and works again with room (case 198)", async () => {
    let rounds = 0;
    for (let room = 0; ; room += 1) {
      const { clean } = await live(room).catch((error: unknown) => {
        if (error instanceof RuntimeFault && error.code === "store_unwritable") return { clean: false }; // it could not even start
        throw error;
      });
      if (clean) break;
      rounds += 1;
    }
    expect(rounds).toBeGreaterThan(8);
  });
});

it("at any page of the database, the answers match the record, and calls work again with room", async () => {
  let fullRounds = 0;
  for (let room = 0; ; room += 1) {
    const clock = new FakeClock();
    const opened = openDatabase(join(folder, `${room}.db`), () => {});
    const pages = Number(Object.values(opened.database.prepare("pragma page_count").get() ?? {})[0]);
    opened.database.exec(`pragma max_page_count = ${pages + room}`);
    const store = new SqliteStore(opened, { clock, serialize: serializeWith((text) => text) });
    await using h = await runtimeFixture({ clock, store, autonomy: "A4" });
    const acknowledged = new Map<string, string>();
    for (let i = 0; i < 8; i += 1) {
      for (const tool of ["echo", "mail"]) {
        const before = h.ran.length;
        const running = h.runtime.invoke({ tool, arguments: { to: `${i} ${"x".repeat(3000)}` } }, asker);
        let isOver = false;
        void running.then(() => {
          isOver = true;
        });
        while (!isOver) await clock.advance(50); // a settle is tried again, and a real disk takes its time
        const { callId, status, refusal } = await running;
        acknowledged.set(callId, refusal?.code ?? status);
        if (tool === "mail") expect(h.ran.length - before).toBe(refusal?.code === "audit_unavailable" ? 0 : 1);
      }
    }
    expect(["ok", "audit_unavailable", "outcome_unknown"]).toEqual(
      expect.arrayContaining([...new Set(acknowledged.values())]),
    );
    const states = { ok: "ok", audit_unavailable: undefined, outcome_unknown: "attempted" };
    for (const [id, output] of acknowledged)
      expect((await h.runtime.calls.get(id))?.state, output).toBe(Reflect.get(states, output));
    opened.database.exec("pragma max_page_count = 4294967294");
    expect((await h.runtime.invoke({ tool: "mail", arguments: { to: "next" } }, asker)).status).toBe("ok");
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
    if ([...acknowledged.values()].every((output) => output === "ok")) break;
    fullRounds += 1;
  }
  expect(fullRounds).toBeGreaterThan(5);
});

import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import {
  all,
  approvalOf,
  callOf,
  claimOf,
  decideOf,
  holdOf,
  hourMs,
  note,
  outcomeOf,
  recordOf,
  settleOf,
} from "../../../test/contracts/records.ts";
import { FakeClock } from "../../../test/fakes/clock.ts";
import { sqliteFiles } from "../../../test/fakes/sqlite-files.ts";
import type { ApprovalRecord, Routed } from "../../calls/records.ts";
import { risks } from "../../calls/risk.ts";
import type { Audience } from "../audience.ts";
import { migrations } from "./schema.ts";

const { at, openAt } = sqliteFiles();

describe("SqliteStore over restarts", () => {
  it("strands what another incarnation attempted, until it is settled as unknown (case 164)", async () => {
    const clock = new FakeClock();
    let store = openAt("stranded.db", { clock });
    const [lost, done] = [
      recordOf(callOf(store, clock), { match: "m", fence: store.incarnation }),
      recordOf(callOf(store, clock)),
    ];
    await store.commit(claimOf(lost), "synced");
    await store.commit(claimOf(done), "synced");
    await store.commit(settleOf({ ...done, fence: store.incarnation }, "ok"), "synced");
    await store[Symbol.asyncDispose]();

    store = openAt("stranded.db", { clock });
    expect(await store.stranded()).toEqual([lost]);
    expect(store.call({ match: "m" })).toMatchObject({ key: lost.key, state: "attempted" });
    expect(await store.commit(settleOf(lost, "unknown"), "committed")).toEqual({ won: true });
    expect(await store.stranded()).toEqual([]);
    expect(store.call({ match: "m" })).toMatchObject({ state: "unknown" });
    await store[Symbol.asyncDispose]();

    store = openAt("stranded.db", { clock });
    expect(await store.stranded()).toEqual([]);
    expect(store.call({ match: "m" })).toMatchObject({ key: lost.key, state: "unknown" });
    await store[Symbol.asyncDispose]();
  });

  it.each([
    ["is still running", false],
    ["was held all the while and claimed at the end", true],
  ])("finds a stranded call after 25,000 newer ones were done, when it %s", async (_, isHeld) => {
    const clock = new FakeClock();
    const name = `watermark-${isHeld}.db`;
    let store = openAt(name, { clock });
    const early = recordOf(callOf(store, clock), { match: "early", approvalId: "apr_1" });
    if (isHeld) await store.commit(holdOf({ ...early, state: "held" }, approvalOf(early)), "committed");
    else await store.commit(claimOf(early), "committed");
    for (let i = 0; i < 25_000; i += 1) {
      const record = recordOf(callOf(store, clock), { fence: store.incarnation });
      store.commit(claimOf(record, { fresh: true }), "queued");
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
      const record = recordOf(callOf(store, clock), {
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
    const done = recordOf(callOf(store, clock), {
      match: "done",
      aliveUntil: clock.now() + hourMs,
      fence: store.incarnation,
    });
    const script = recordOf(callOf(store, clock), {
      match: "script",
      aliveUntil: clock.now() + 1,
      fence: store.incarnation,
    });
    for (const record of [done, script]) await store.commit(claimOf(record), "committed");
    await store.commit(settleOf(done, "ok"), "committed");
    await store.commit(settleOf(script, "suspended"), "committed");
    await clock.advance(1_000);
    const found = (): (string | undefined)[] =>
      ["endless", "short", "withdrawn", "done", "script"].map((match) => store.call({ match })?.state);
    const expected = ["held", undefined, undefined, "ok", "suspended"];
    expect(found()).toEqual(expected);
    await store[Symbol.asyncDispose]();
    store = openAt("live.db", { clock });
    expect(found()).toEqual(expected);
    await clock.advance(hourMs);
    expect(found()).toEqual(["held", undefined, undefined, undefined, "suspended"]);
    await store[Symbol.asyncDispose]();
  });

  it("goes on counting calls and events where the last incarnation ended", async () => {
    const clock = new FakeClock();
    const incarnations = new Set<string>();
    for (let round = 0; round < 3; round += 1) {
      await using store = openAt("counting.db", { clock });
      incarnations.add(store.incarnation);
      expect(store.nextNumber()).toBe(round + 1);
      const call = { ...callOf(store, clock), number: round + 1 };
      await store.commit(claimOf(recordOf(call), { fresh: true }), "synced");
      expect((await all(store.events({ after: -1 }))).map(({ seq }) => seq)).toEqual(
        Array.from({ length: round + 1 }, (_, i) => i),
      );
    }
    expect(incarnations.size).toBe(3);
  });

  it("writes on close what is still queued", async () => {
    const store = openAt("queued.db");
    store.commit(note("queued"), "queued");
    await store[Symbol.asyncDispose]();
    const again = openAt("queued.db");
    expect(await all(again.events({ after: -1 }))).toHaveLength(1);
    await again[Symbol.asyncDispose]();
  });

  it("brings the approvals of the third schema up to date: they are listed as before, by tool, run and audience", async () => {
    const clock = new FakeClock();
    const next = openAt("written.db", { clock });
    const routed: Routed = {
      ...{
        rule: "r",
        to: { users: ["ann"] },
        quorum: 2,
        typedConfirmation: false,
        separateUser: true,
        signedIn: false,
      },
      ...{ remembers: false, remindAt: 5, escalateAt: 6, escalateTo: { roles: ["approver"] } },
    };
    const votes = [{ as: "approved", by: "bob", via: "user:bob", at: 1 }] as const;
    const expiresAt = clock.now() + 3_600_000;
    const asked: readonly Partial<ApprovalRecord>[] = [
      { expiresAt },
      { tool: "pay", expiresAt: expiresAt + 60_007 },
      { state: "denied" },
      { routed, votes, escalatedAt: 7, expiresAt: expiresAt + 60_008, risk: "critical" },
    ];
    const approvals = asked.map((more) => approvalOf(recordOf(callOf(next, clock)), more));
    await next[Symbol.asyncDispose]();
    const database = new DatabaseSync(at("third.db"));
    const third = migrations.slice(0, 3).join("");
    database.exec(`${third} pragma application_id = 0x506f7374; insert into meta values ('schema', 3)`);
    const insert = database.prepare("insert into approval (id, state, tenant, body) values (?, ?, ?, ?)");
    for (const one of approvals) insert.run(one.id, one.state, one.principal.tenant, JSON.stringify(one));
    database.close();

    await using again = openAt("third.db", { clock });
    const [first, second, , fourth] = approvals;
    expect(await again.approvals({})).toEqual(approvals);
    expect(await again.approvals({ state: "pending", tenant: "default" })).toEqual([first, fourth, second]);
    expect(await again.waiting({})).toEqual({ safe: 0, medium: 0, high: 2, critical: 1 });
    expect(await again.approvals({ tool: "pay", runId: "run_1" })).toEqual([second]);
    expect(await again.approvals({ runId: "run_2" })).toEqual([]);
    const seen: Audience[] = [];
    await again.approvals({ state: "pending", isFor: (audience) => seen.push(audience) > 0 });
    expect(seen.map(({ escalatedAt, votes: said, routed: way }) => [escalatedAt, said?.length, way?.quorum])).toEqual(
      expect.arrayContaining([
        [undefined, undefined, undefined],
        [7, 1, 2],
      ]),
    );
    expect(seen).toHaveLength(3);
    for (const { routed: way } of seen) expect(way ?? {}).not.toHaveProperty("remindAt");
  });

  it("brings a file of the first schema up to date: its rows stay what they were, and their artifacts are known", async () => {
    const [sent, kept] = ["a".repeat(64), "b".repeat(64)];
    const clock = new FakeClock();
    const next = openAt("next.db", { clock });
    const call = callOf(next, clock, { arguments: { file: [{ $artifact: sent }], text: '{"$artifact":"c"}' } });
    await next[Symbol.asyncDispose]();
    const authority = { ...call.authority, taskId: "task_1" };
    const outcome = { ...outcomeOf(call), artifact: kept };
    const record = recordOf({ ...call, authority }, { key: "mine", state: "ok", endedAt: clock.now(), outcome });
    const database = new DatabaseSync(at("first.db"));
    database.exec(`${migrations[0]} pragma application_id = 0x506f7374; insert into meta values ('schema', 1)`);
    const insert = database.prepare("insert into call values (?, ?, 4, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    const { definition, fence, aliveUntil, startedAt, endedAt } = record;
    const { number, id, arrivedAt, tool, action, text } = call;
    const flags = risks.indexOf(record.risk) | (record.idempotent ? 4 : 0);
    const values = [flags, fence, aliveUntil, startedAt, endedAt, arrivedAt, tool, action, definition].map(
      (one) => one ?? null,
    );
    const texts = [JSON.stringify(authority), '{"key":"mine"}', text, JSON.stringify(outcome)];
    insert.run(number, id, ...values, ...texts);
    const plainId = id.replace(/.$/, "f");
    insert.run(number + 14, plainId, ...values, JSON.stringify(call.authority), null, "{}", '"done"');
    const childId = id.replace(/.$/, "e");
    const more = JSON.stringify({ key: "child", parentId: id });
    insert.run(number + 13, childId, ...values, JSON.stringify(call.authority), more, "{}", '"done"');
    database.exec(`insert into call_key values ('mine', ${number}), ('child', ${number + 13})`);
    database.exec(`insert into event values (0, '{"type":"run.opened"}')`);
    database.close();

    await using again = openAt("first.db", { clock });
    expect(await again.call({ key: "mine" })).toEqual({ ...record, match: undefined });
    expect(await again.call({ key: plainId })).toMatchObject({
      call: { authority: call.authority },
      outcome: { text: "done" },
    });
    expect(await again.calls({ parentId: id })).toMatchObject([{ key: "child", call: { id: childId, parentId: id } }]);
    expect([...(await again.needed([sent, kept, "d".repeat(64)]))].sort()).toEqual([sent, kept]);
    expect(await all(again.events({ after: -1 }))).toEqual([{ seq: 0, body: '{"type":"run.opened"}' }]);
  });
});

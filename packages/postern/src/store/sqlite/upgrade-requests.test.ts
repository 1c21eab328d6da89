import { DatabaseSync } from "node:sqlite";
import { rankOf } from "@postern/core";
import { expect, it } from "vitest";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { approvalOf, callOf, decideOf, recordOf } from "../../testing/records.ts";
import { audienceKey } from "../audience.ts";
import { tablesOfVersion8 } from "./schema.ts";

const { at, openAt } = sqliteFiles();
const minuteMs = 60_000;

it("opens a store of version 8: its requests keep their ends, are ordered and counted", async () => {
  const clock = new FakeClock();
  const database = new DatabaseSync(at("old.db"));
  database.exec(`pragma application_id = ${0x506f7374}; ${tablesOfVersion8} insert into meta values ('schema', 8)`);
  const insert = database.prepare(
    `insert into approval (id, state, tenant, tool, risk, agent, user, run, audience, urgency, body)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const made = (
    [
      ["pending", "safe", 4],
      ["pending", "high", 60],
      ["approved", "high", 60],
      ["pending", "critical", 61.5],
      ["approved", "high", 1],
      ["denied", "high", 2],
    ] as const
  ).map(([state, risk, minutes]) => {
    const expiresAt = clock.now() + minutes * minuteMs;
    const approval = { ...approvalOf(recordOf(callOf(clock), { aliveUntil: expiresAt })), state, risk };
    const { id, tool, runId, principal } = approval;
    const minute = Math.floor(expiresAt / minuteMs);
    const urgency = (minute * 4 + (rankOf("critical") - rankOf(risk))) * minuteMs + (expiresAt % minuteMs);
    const names = ["default", tool, risk, principal.agent, principal.user ?? null, runId, audienceKey(approval)];
    insert.run(id, state, ...names, urgency, JSON.stringify(approval));
    return approval;
  });
  database.close();

  const [safe, high, , critical] = made;
  {
    await using store = openAt("old.db", { clock });
    const pending = await store.approvals({ state: "pending" });
    expect(pending).toEqual([safe, critical, high]);
    const { waiting } = (await store.groups({ by: [] }))[0] ?? {};
    expect(waiting).toBe(3);
    expect((await store.counts({})).requests).toMatchObject({ pending: 3, approved: 2, denied: 1 });
    if (high !== undefined) expect(await store.commit(decideOf(high, "denied"), "synced")).toEqual({ won: true });
  }
  await clock.advance(minuteMs);
  await using again = openAt("old.db", { clock });
  expect((await again.counts({})).requests).toMatchObject({ pending: 2, approved: 1, denied: 2, expired: 1 });
  expect(await again.groups({ by: ["risk"] })).toMatchObject([
    { risk: "critical", waiting: 1 },
    { risk: "safe", waiting: 1 },
  ]);
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { all, serializePlainly, settleOf } from "../../testing/records.ts";
import { openDatabase } from "./open.ts";
import { SqliteStore } from "./sqlite-store.ts";

const rounds = 12;
const folder = ownFolder();
const location = join(folder, "store.db");

/** Claims and settles for ever, eight at a time; says `c NUMBER` and `s NUMBER` once each is acknowledged. */
const script = `
  const { openSqliteStore } = await import(${JSON.stringify(new URL("sqlite-store.ts", import.meta.url).href)});
  const { SystemClock } = await import(${JSON.stringify(new URL("../../../../core/src/clock.ts", import.meta.url).href)});
  const contract = await import(${JSON.stringify(new URL("../../testing/records.ts", import.meta.url).href)});
  const { newCallId } = await import(${JSON.stringify(new URL("../../../../core/src/ids.ts", import.meta.url).href)});
  const { writeSync } = await import("node:fs");
  const clock = new SystemClock();
  const store = openSqliteStore({ location: ${JSON.stringify(location)}, clock, serialize: contract.serializePlainly });
  const lane = async () => {
    for (;;) {
      const record = contract.recordOf(contract.callOf(clock, { id: newCallId(clock.now()) }), { fence: store.incarnation });
      await store.commit({ write: "claim", record, fresh: true, event: contract.eventOf("c " + record.call.id) }, "synced");
      writeSync(1, "c " + record.call.id + "\\n");
      await store.commit({ ...contract.settleOf(record, "ok"), event: contract.eventOf("s " + record.call.id) }, "committed");
      writeSync(1, "s " + record.call.id + "\\n");
    }
  };
  for (let i = 0; i < 8; i += 1) lane();`;

/** @returns what was acknowledged before the kill */
async function killedAfter(lines: number): Promise<string[]> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  let said = "";
  let count = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
    count += chunk.toString().split("\n").length - 1;
    if (count >= lines) child.kill("SIGKILL");
  });
  await closed;
  return said.split("\n").filter((line) => line !== "");
}

it(`loses nothing acknowledged and keeps nothing half in ${rounds} kills at any moment (cases 164, 167)`, async () => {
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    acknowledged.push(...(await killedAfter(20 + round * 150)));
    // The log grown beforehand is what the next start reads: it ends in zeros, or in frames of an older turn.
    expect(statSync(`${location}-wal`).size).toBeGreaterThanOrEqual(8 * 1024 * 1024);

    const opened = openDatabase(location, () => {});
    expect(opened.database.prepare("pragma integrity_check").get()).toEqual({
      integrity_check: "ok",
    });
    await using store = new SqliteStore(opened, { clock: new FakeClock(), serialize: serializePlainly });
    const rows = new Map((await store.calls({})).map((row) => [row.call.id, row]));
    const entries = await all(store.events({ after: -1 }));
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, i) => i));
    const told = new Set(entries.map(({ body }) => JSON.parse(body).type));
    for (const line of acknowledged) expect(told.has(line), `${line} of round ${round}`).toBe(true);
    for (const [number, { state }] of rows) {
      expect(told.has(`c ${number}`)).toBe(true);
      expect(told.has(`s ${number}`)).toBe(state === "ok");
    }
    expect(rows.size).toBe([...told].filter((type) => type.startsWith("c ")).length);
    const stranded = await store.stranded();
    expect(stranded.map(({ call }) => call.id)).toEqual(
      [...rows.values()]
        .filter(({ state }) => state === "attempted")
        .map(({ call }) => call.id)
        .reverse(),
    );
    for (const record of stranded) await store.commit(settleOf(record, "unknown"), "committed");
  }
  expect(acknowledged.length).toBeGreaterThan(rounds * 20);
}, 60_000);

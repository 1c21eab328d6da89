import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import type { Json, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, boss, type RuntimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

function folder(): string {
  const made = ownFolder();
  folders.push(made);
  return made;
}

function at(place: string, driver = fakeDriver(), options: RuntimeOptions = {}): Promise<RuntimeFixture> {
  const store = `sqlite:${join(place, "postern.db")}`;
  return scriptFixture({ store, folder: place, ...options }, driver);
}

const code = `const a = await call("echo", { to: "first" });
  const b = await call("mail", { to: a.text });
  return b.text;`;

/** A script that waits for an approval in a Postern that has ended. */
async function frozen(place: string, driver = fakeDriver()): Promise<string> {
  await using h = await at(place, driver);
  const pending = await h.runtime.runChain({ code }, asker);
  await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
  return pending.callId;
}

function changed(place: string, change: (body: { header: Record<string, Json>; sealed: string }) => unknown): void {
  const database = new DatabaseSync(join(place, "postern.db"));
  const tables = database
    .prepare("select name from sqlite_master where type = 'table' and name like '%document%'")
    .all();
  const table = String(tables[0]?.["name"]);
  const row = database.prepare(`select * from "${table}" where kind = 'frozen-script'`).get() ?? {};
  const column = Object.keys(row).find((name) => String(row[name]).includes('"sealed"')) ?? "";
  const body = JSON.parse(String(row[column]));
  const next = change(body) ?? body;
  database.prepare(`update "${table}" set "${column}" = ? where kind = 'frozen-script'`).run(JSON.stringify(next));
  database.close();
}

/** Replaces a text in every row that has it, as an intruder with access to the file does. */
function rewritten(place: string, text: string, by: string): void {
  const database = new DatabaseSync(join(place, "postern.db"));
  const tables = database.prepare("select name from sqlite_master where type = 'table'").all();
  for (const { name: table } of tables)
    for (const { name: column } of database.prepare(`pragma table_info("${String(table)}")`).all())
      try {
        database
          .prepare(
            `update "${String(table)}" set "${String(column)}" = replace("${String(column)}", ?, ?) where typeof("${String(column)}") = 'text'`,
          )
          .run(text, by);
      } catch {
        // A column that cannot be written holds no source.
      }
  database.close();
}

describe("a frozen script", () => {
  it("continues in another process, days later, with its state", async () => {
    const place = folder();
    const id = await frozen(place);
    const how: string[] = [];
    await using h = await at(place, fakeDriver({ started: (which) => void how.push(which) }));
    expect(await h.runtime.chains?.list()).toMatchObject([{ callId: id, state: "waiting", engine: "fake" }]);
    const done = await h.runtime.chains?.resume(id);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "to to first", tool_calls: 2 });
    expect(h.ran).toEqual([{ to: "to first" }]);
    expect(how).toEqual(["restore"]);
  });

  it("does not continue if its row has another source", async () => {
    const place = folder();
    const id = await frozen(place);
    rewritten(place, "first", "other");
    await using h = await at(place);
    const outcome = await h.runtime.chains?.resume(id);
    expect(outcome?.text).toContain("another one than this call's");
    expect(h.ran).toEqual([]);
  });

  it("is encrypted: its source's values and results cannot be read in the store", async () => {
    const place = folder();
    await frozen(place);
    const database = new DatabaseSync(join(place, "postern.db"));
    database.exec("pragma wal_checkpoint(truncate)");
    database.close();
    const seen: string[] = [];
    changed(
      place,
      (body) => void seen.push(Buffer.from(body.sealed, "base64").toString("latin1"), JSON.stringify(body.header)),
    );
    expect(seen.join()).not.toContain("to first");
    expect((await stat(join(place, "chains.key"))).mode & 0o777).toBe(0o600);
  });

  it("does not continue if it was changed, and says so", async () => {
    for (const change of [
      (body: { sealed: string }) => ({ ...body, sealed: `${body.sealed.slice(0, 60)}AAAA${body.sealed.slice(64)}` }),
      (body: { header: Record<string, Json> }) => ({ ...body, header: { ...body.header, engine: "fake 2" } }),
      (body: { sealed: string }) => ({ ...body, sealed: "" }),
      (body: { sealed: string }) => ({ ...body, sealed: body.sealed.slice(0, 100) }),
    ]) {
      const place = folder();
      const id = await frozen(place);
      changed(place, change as never);
      await using h = await at(place);
      const done = await h.runtime.chains?.resume(id);
      expect(done?.status).toBe("error");
      expect(done?.text).toContain("was changed");
      expect(h.ran).toEqual([]);
    }
  });

  it("sealed with another key is replayed over its calls, and its approval is used", async () => {
    const place = folder();
    const id = await frozen(place);
    await writeFile(join(place, "chains.key"), `${Buffer.alloc(32, 7).toString("base64")}\n`, { mode: 0o600 });
    const [how, messages]: string[][] = [[], []];
    const driver = fakeDriver({ started: (which) => void how?.push(which) });
    await using h = await at(place, driver, { log: (problem) => void messages?.push(problem) });
    const done = await h.runtime.chains?.resume(id);
    expect(resultOf(done)).toMatchObject({ status: "ok", output_text: "to to first", tool_calls: 2 });
    expect(how).toEqual(["start"]);
    expect(h.ran).toEqual([{ to: "to first" }]);
    expect(messages?.join()).toContain("sealed with another key");
  });

  it("of another engine build is replayed over its calls", async () => {
    const place = folder();
    const id = await frozen(place);
    const how: string[] = [];
    await using h = await at(place, fakeDriver({ engine: "fake 2", started: (which) => void how.push(which) }));
    expect(resultOf(await h.runtime.chains?.resume(id))).toMatchObject({ status: "ok", tool_calls: 2 });
    expect(how).toEqual(["start"]);
    expect(h.ran).toEqual([{ to: "to first" }]);
  });

  it("is replayed if its engine does not accept the image", async () => {
    const place = folder();
    const id = await frozen(place);
    const stubborn = { ...fakeDriver(), restore: () => Promise.reject(new Error("no")) };
    await using h = await at(place, stubborn);
    expect(resultOf(await h.runtime.chains?.resume(id))).toMatchObject({ status: "ok", tool_calls: 2 });
    expect(h.ran).toEqual([{ to: "to first" }]);
  });

  it("is replayed if it is gone from the store", async () => {
    const place = folder();
    const id = await frozen(place);
    changed(place, () => ({}));
    await using h = await at(place);
    expect(resultOf(await h.runtime.chains?.resume(id))).toMatchObject({ status: "ok", tool_calls: 2 });
    expect(h.ran).toEqual([{ to: "to first" }]);
  });

  it("runs once if two callers resume it at once", async () => {
    const place = folder();
    const id = await frozen(place);
    await using h = await at(place);
    const outcomes = await Promise.all([1, 2, 3].map(() => h.runtime.chains?.resume(id)));
    expect(outcomes.filter((outcome) => outcome?.status === "ok").length).toBeGreaterThan(0);
    expect(h.ran).toEqual([{ to: "to first" }]);
  });

  it("meets the policy of the day on which it continues", async () => {
    const place = folder();
    const id = await frozen(place);
    await using h = await at(place, fakeDriver(), { policy: { rules: [{ effect: "deny", tool: "mail" }] } });
    const done = await h.runtime.chains?.resume(id);
    expect(done?.status).toBe("error");
    expect(h.ran).toEqual([]);
  });

  it("frees its place when it has ended", async () => {
    const place = folder();
    const id = await frozen(place);
    await using h = await at(place);
    await h.runtime.chains?.resume(id);
    await h.runtime.close();
    let left: unknown;
    const database = new DatabaseSync(join(place, "postern.db"));
    for (const { name } of database
      .prepare("select name from sqlite_master where name like '%document%' and type = 'table'")
      .all())
      left = database.prepare(`select * from "${String(name)}" where kind = 'frozen-script'`).get();
    database.close();
    expect(JSON.stringify(left)).not.toContain("sealed");
  });

  it("a key file that others can read is refused", async () => {
    const place = folder();
    await frozen(place);
    await writeFile(join(place, "chains.key"), await readFile(join(place, "chains.key")));
    const { chmod } = await import("node:fs/promises");
    await chmod(join(place, "chains.key"), 0o644);
    await expect(at(place)).rejects.toThrow(/can be read by others/);
  });
});

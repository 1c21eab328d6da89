import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Makes a log of a few ordinary calls of two tools. */
async function logged(): Promise<{ readonly store: string; readonly file: string; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "postern-rows-"));
  folders.push(folder);
  const file = join(folder, "postern.db");
  const kept = { store: `sqlite:${file}`, file, folder };
  await using h = await runtimeFixture({ store: kept.store, folder, policy: { maxRiskUnapproved: "high" } } as never);
  for (const to of ["a", "b", "c", "d"]) {
    await h.runtime.invoke({ tool: "echo", arguments: { to } }, asker);
    await h.runtime.invoke({ tool: "mail", arguments: { to } }, asker);
  }
  await h.runtime.audit.checkpoint();
  return kept;
}

/** Changes the second row of events. */
const changed = (change: (body: string) => string) => (database: DatabaseSync) => {
  const row = database.prepare("select seq, body from event order by seq limit 1 offset 1").get();
  const body = change(String(row?.["body"]));
  database.prepare("update event set body = ? where seq = ?").run(body, row?.["seq"] ?? 0);
};
const edits: readonly (readonly [string, (database: DatabaseSync) => unknown])[] = [
  ["a word in a row", changed((body) => body.replace("agent", "ghost"))],
  ["a row that is no JSON", changed(() => "[")],
  ["a row that is nothing", changed(() => "null")],
  ["a row that is empty", changed(() => "")],
  ["a row that is an object", changed(() => '{"length":5}')],
  ["a row with a line break more", changed((body) => body.replace(",", ",\n"))],
  ["a row with an entry more", changed((body) => `${body}\n${body}`)],
  ["a row without its first entry", changed((body) => body.split("\n").slice(1).join("\n"))],
  [
    "a row taken away",
    (d) => d.exec("delete from event where seq = (select seq from event order by seq limit 1 offset 1)"),
  ],
  [
    "two rows exchanged",
    (d) => {
      const [one, other] = d.prepare("select seq, body from event order by seq limit 2 offset 1").all();
      const set = d.prepare("update event set body = ? where seq = ?");
      set.run(other?.["body"] ?? "", one?.["seq"] ?? 0);
      set.run(one?.["body"] ?? "", other?.["seq"] ?? 0);
    },
  ],
];

describe("a log whose rows were edited from outside", () => {
  it("is intact before any edit", async () => {
    const { store, folder, file } = await logged();
    const database = new DatabaseSync(file);
    expect(Object.values(database.prepare("select count(*) from event").get() ?? {})[0]).toBeGreaterThan(1);
    database.close();
    await using h = await runtimeFixture({ store, folder });
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it.each(edits)("verify names the entry, and reading throws nothing: %s", async (_, edit) => {
    const { store, folder, file } = await logged();
    const database = new DatabaseSync(file);
    edit(database);
    database.close();
    const problems: string[] = [];
    await using h = await runtimeFixture({
      store,
      folder,
      log: (problem: string) => void problems.push(problem),
    } as never);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: false, firstBroken: expect.any(Number) });
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "on" } }, asker)).status).toBe("ok");
    await expect(h.runtime.audit.query({ limit: 100 })).resolves.toBeDefined();
  });
});

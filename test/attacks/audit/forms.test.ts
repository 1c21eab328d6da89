import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { asker, house } from "../../fakes/house.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A log of a few ordinary calls of two tools, whose fixed parts are kept once. */
async function logged(): Promise<{ readonly store: string; readonly file: string; readonly folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), "postern-forms-"));
  folders.push(folder);
  const file = join(folder, "postern.db");
  const kept = { store: `sqlite:${file}`, file, folder };
  await using h = await house({ store: kept.store, folder, policy: { maxRiskUnapproved: "high" } } as never);
  for (const to of ["a", "b", "c", "d"]) {
    await h.runtime.invoke({ tool: "echo", arguments: { to } }, asker);
    await h.runtime.invoke({ tool: "mail", arguments: { to } }, asker);
  }
  await h.runtime.audit.checkpoint();
  return kept;
}

const edits: readonly (readonly [string, (database: DatabaseSync) => unknown])[] = [
  ["a word in a form", (d) => d.exec("update event_form set fragments = replace(fragments, 'agent', 'ghost')")],
  ["a form that is no JSON", (d) => d.exec("update event_form set fragments = '['")],
  ["a form that is nothing", (d) => d.exec("update event_form set fragments = 'null'")],
  ["a form that is a number", (d) => d.exec("update event_form set fragments = '7'")],
  ["a form that is an object", (d) => d.exec("update event_form set fragments = '{\"length\":5}'")],
  ["a form without its last piece", (d) => d.exec("update event_form set fragments = json_remove(fragments, '$[0]')")],
  ["forms taken away", (d) => d.exec("delete from event_form")],
  [
    "two forms exchanged",
    (d) => {
      const rows = d.prepare("select number, fragments from event_form order by number limit 2").all();
      const [one, other] = rows;
      const set = d.prepare("update event_form set fragments = ? where number = ?");
      set.run(other?.["fragments"] ?? "", one?.["number"] ?? 0);
      set.run(one?.["fragments"] ?? "", other?.["number"] ?? 0);
    },
  ],
  [
    "a row that names another form",
    (d) => {
      const [row] = d.prepare("select seq, body from event where body not like '{%' order by seq limit 1").all();
      const [, ...fields] = String(row?.["body"]).split("\n");
      d.prepare("update event set body = ? where seq = ?").run([9_999, ...fields].join("\n"), row?.["seq"] ?? 0);
    },
  ],
  [
    "a field of a row",
    (d) => {
      const [row] = d.prepare("select seq, body from event where body not like '{%' order by seq limit 1").all();
      const body = String(row?.["body"]).replace(/call_/, "call-");
      d.prepare("update event set body = ? where seq = ?").run(body, row?.["seq"] ?? 0);
    },
  ],
];

describe("a log whose forms were edited behind its back", () => {
  it("is intact while they were not", async () => {
    const { store, folder, file } = await logged();
    const database = new DatabaseSync(file);
    expect(Object.values(database.prepare("select count(*) from event_form").get() ?? {})[0]).toBeGreaterThan(1);
    database.close();
    await using h = await house({ store, folder });
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it.each(edits)("%s / is said by verify, with the entry, and reading it throws nothing", async (_, edit) => {
    const { store, folder, file } = await logged();
    const database = new DatabaseSync(file);
    edit(database);
    database.close();
    const problems: string[] = [];
    await using h = await house({ store, folder, log: (problem: string) => void problems.push(problem) } as never);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: false, firstBroken: expect.any(Number) });
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "on" } }, asker)).status).toBe("ok");
    await expect(h.runtime.audit.query({ limit: 100 })).resolves.toBeDefined();
  });
});

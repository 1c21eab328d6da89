import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { all, eventOf, note, spellPlainly } from "../../../test/contracts/records.ts";
import { sqliteFiles } from "../../../test/fakes/sqlite-files.ts";

const { at, openAt } = sqliteFiles();
const bodies = (types: readonly string[]): string[] => types.map((type) => spellPlainly(eventOf(type)));

it("keeps the entries of one transaction in few rows, and reads from any of them on, as many as are asked for", async () => {
  const types = Array.from({ length: 75 }, (_, i) => (i % 7 === 0 ? "naïve 🎈\nwith a line end" : `t${i}`));
  {
    await using store = openAt("shared.db");
    await store.commit(note("alone"), "committed");
    await Promise.all(types.map((type) => store.commit(note(type), "committed")));
  }
  const database = new DatabaseSync(at("shared.db"));
  expect(database.prepare("select seq from event").all()).toEqual([0, 1, 33, 65].map((seq) => ({ seq })));
  database.close();
  await using again = openAt("shared.db");
  const whole = ["alone", ...types].map((type, seq) => ({ seq, body: spellPlainly(eventOf(type)) }));
  for (const after of [-1, 0, 1, 31, 32, 33, 70, 74, 75, 100]) {
    expect(await all(again.events({ after }))).toEqual(whole.slice(after + 1));
    expect(await all(again.events({ after, limit: 3 }))).toEqual(whole.slice(after + 1, after + 4));
  }
  await again.commit(note("next"), "committed");
  expect((await all(again.events({ after: 75 }))).map(({ seq }) => seq)).toEqual([76]);
});

it("reads on after a transaction that was taken back", async () => {
  await using store = openAt("undone.db", {
    spell: (event) => {
      if (event.moment === "attempted") throw new Error("cannot be spelled");
      return spellPlainly(event);
    },
  });
  await store.commit(note("a"), "committed");
  const [lost] = await Promise.allSettled([
    store.commit(note("b"), "committed"),
    store.commit({ write: "note", event: { ...eventOf("broken"), moment: "attempted" } as never }, "committed"),
  ]);
  expect(lost.status).toBe("rejected");
  for (const type of ["c", "d"]) await store.commit(note(type), "committed");
  expect((await all(store.events({ after: -1 }))).map(({ body }) => body)).toEqual(bodies(["a", "c", "d"]));
});

it("gives a row that was changed as it is: the tree of the log says so", async () => {
  {
    await using store = openAt("changed.db");
    for (const type of ["a", "b", "c"]) await store.commit(note(type), "committed");
  }
  const database = new DatabaseSync(at("changed.db"));
  database.exec(
    "update event set body = '7' where seq = 1; update event set body = body || char(10) || 'y' where seq = 2",
  );
  database.close();
  await using again = openAt("changed.db");
  const read = (await all(again.events({ after: -1 }))).map(({ body }) => body);
  expect(read).toEqual([...bodies(["a"]), "7", ...bodies(["c"]), "y"]);
});

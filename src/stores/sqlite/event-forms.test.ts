import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { all, eventOf, note, spellPlainly } from "../../../test/contracts/records.ts";
import { sqliteFiles } from "../../../test/fakes/sqlite-files.ts";
import { bodyOf, type Spell } from "../store.ts";

const { at, openAt } = sqliteFiles();
const fragments = ['{"type":"', '","at":', ',"long":"what many share"}'];

/** As audit spells ordinary calls: all but one kind of them in parts. */
const inParts: Spell = (event) => {
  if (!("type" in event) || event.type === "whole") return bodyOf(spellPlainly(event));
  const fields = [event.type, String(event.at)];
  return { body: fragments.map((text, i) => text + (fields[i] ?? "")).join(""), fragments, fields };
};
const bodies = (types: readonly string[]): string[] => types.map((type) => bodyOf(inParts(eventOf(type))));

it("keeps what bodies share once, and reads each as it was spelled, also after a restart", async () => {
  const types = ["a", "b", "whole", "c", "naïve 🎈", "d"];
  {
    await using store = openAt("forms.db", { spell: inParts });
    for (const type of types) await store.commit(note(type), "committed");
    expect((await all(store.events({ after: -1 }))).map(({ body }) => body)).toEqual(bodies(types));
  }
  {
    await using again = openAt("forms.db", { spell: inParts });
    for (const type of types) await again.commit(note(type), "committed");
    expect((await all(again.events({ after: -1 }))).map(({ body }) => body)).toEqual(bodies([...types, ...types]));
  }
  const database = new DatabaseSync(at("forms.db"));
  const rows = database
    .prepare("select body from event")
    .all()
    .map(({ body }) => String(body));
  expect(rows.filter((row) => row.includes("what many share"))).toHaveLength(2); // the first of each opening
  expect(database.prepare("select * from event_form").all()).toHaveLength(2);
  database.close();
});

it("keeps the entries of one transaction in few rows, and reads from any of them on, as many as are asked for", async () => {
  const types = Array.from({ length: 75 }, (_, i) => (i % 7 === 0 ? "whole" : `t${i}`));
  {
    await using store = openAt("shared.db", { spell: inParts });
    await store.commit(note("alone"), "committed");
    await Promise.all(types.map((type) => store.commit(note(type), "committed")));
  }
  const database = new DatabaseSync(at("shared.db"));
  expect(database.prepare("select seq from event").all()).toEqual([0, 1, 33, 65].map((seq) => ({ seq })));
  database.close();
  await using again = openAt("shared.db", { spell: inParts });
  const whole = ["alone", ...types].map((type, seq) => ({ seq, body: bodyOf(inParts(eventOf(type))) }));
  for (const after of [-1, 0, 1, 31, 32, 33, 70, 74, 75, 100]) {
    expect(await all(again.events({ after }))).toEqual(whole.slice(after + 1));
    expect(await all(again.events({ after, limit: 3 }))).toEqual(whole.slice(after + 1, after + 4));
  }
  await again.commit(note("next"), "committed");
  expect((await all(again.events({ after: 75 }))).map(({ seq }) => seq)).toEqual([76]);
});

it("keeps a form anew when the transaction that brought it was taken back", async () => {
  await using store = openAt("undone.db", {
    spell: (event) => {
      if (event.moment === "attempted") throw new Error("cannot be spelled");
      return inParts(event);
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

it("gives a row that fits no form as it is: the log's tree will say that it was changed", async () => {
  {
    await using store = openAt("changed.db", { spell: inParts });
    for (const type of ["a", "b", "c"]) await store.commit(note(type), "committed");
  }
  const database = new DatabaseSync(at("changed.db"));
  database.exec(
    "update event set body = '7' || char(10) || 'x' where seq = 1; update event set body = body || char(10) || 'y' where seq = 2",
  );
  database.close();
  await using again = openAt("changed.db", { spell: inParts });
  const read = (await all(again.events({ after: -1 }))).map(({ body }) => body);
  expect(read).toEqual([...bodies(["a"]), "7\nx", "1\nc\n0\ny"]);
});

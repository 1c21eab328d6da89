import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Principal } from "@postern/core";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { openEmbeddedMemory } from "./embedded-memory.ts";
import type { Memory, MemoryFor, MemoryProvider } from "./memory.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "postern-memory-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ann: Principal = { tenant: "acme", agent: "ann", user: "u1" };

function of(provider: MemoryFor, principal: Principal): MemoryProvider {
  const call = (): never => expect.unreachable();
  return provider({ principal, signal: new AbortController().signal, call });
}

async function contents(
  memory: MemoryProvider,
  query: string,
  scope = "agent",
  limit = 10,
): Promise<readonly string[]> {
  const found = (await memory.recall(query, scope, limit)) as readonly Memory[]; // it suspends nobody
  return found.map(({ content }) => content);
}

it("finds by any word, in any case, with and without accents, by tags and by the beginning of a word", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  await hers.write("Ann drinks tea at five", "agent", ["drinks"]);
  await hers.write("Le café ouvre à huit heures", "agent", ["Öffnungszeiten"]);
  expect(await contents(hers, "TEA, please!")).toEqual(["Ann drinks tea at five"]);
  expect(await contents(hers, "cafe")).toEqual(["Le café ouvre à huit heures"]);
  expect(await contents(hers, "offnungszeiten")).toEqual(["Le café ouvre à huit heures"]);
  expect(await contents(hers, "heur")).toEqual(["Le café ouvre à huit heures"]);
  expect(await contents(hers, "coffee")).toEqual([]);
});

it("returns the best first, up to the limit", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  for (let n = 0; n < 50; n += 1) await hers.write(`the meeting number ${n} was long`, "agent", []);
  await hers.write("the budget meeting was short", "agent", []);
  expect(await contents(hers, "budget meeting", "agent", 5)).toHaveLength(5);
  expect((await contents(hers, "budget meeting"))[0]).toBe("the budget meeting was short");
});

it("finds text without spaces, and signs", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  await hers.write("会議は火曜日です", "agent", []);
  await hers.write("she likes 🫖 :-)", "agent", []);
  expect(await contents(hers, "火曜日")).toEqual(["会議は火曜日です"]);
  expect(await contents(hers, "🫖")).toEqual(["she likes 🫖 :-)"]);
  expect(await contents(hers, ":-)")).toEqual(["she likes 🫖 :-)"]);
});

it.each([
  ["用户喜欢什么茶？", "用户喜欢绿茶，不喜欢咖啡"],
  ["会議はいつですか", "会議は火曜日です"],
  ["deploys", "We never deploy on Friday"],
  ["preference", "She prefers short answers"],
  ["the deployments", "We never deploy on Friday"],
  ["โปรดปราน", "ชาคือเครื่องดื่มโปรด"],
])("finds a memory by a sentence or by another form of its word: %s", async (query, content) => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  const all = [
    "用户喜欢绿茶，不喜欢咖啡",
    "会議は火曜日です",
    "We never deploy on Friday",
    "She prefers short answers",
    "ชาคือเครื่องดื่มโปรด",
  ];
  for (const one of all) await hers.write(one, "agent", []);
  expect(await contents(hers, query)).toEqual([content]);
});

it("finds nothing by a word that no memory has in any form", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  await hers.write("We never deploy on Friday", "agent", []);
  for (const query of ["invoice", "天气", "depot"]) expect(await contents(hers, query)).toEqual([]);
});

it("separates tenants in every scope, and agents and users in theirs", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  for (const scope of ["agent", "user", "team"]) await of(memory.provider, ann).write(`plan ${scope}`, scope, []);
  const seenBy = async (who: Principal): Promise<unknown> =>
    Promise.all(["agent", "user", "team"].map((scope) => contents(of(memory.provider, who), "plan", scope)));
  expect(await seenBy(ann)).toEqual([["plan agent"], ["plan user"], ["plan team"]]);
  expect(await seenBy({ ...ann, agent: "bob", user: "u2" })).toEqual([[], [], ["plan team"]]);
  expect(await seenBy({ ...ann, agent: "bob" })).toEqual([[], ["plan user"], ["plan team"]]);
  expect(await seenBy({ ...ann, tenant: "other" })).toEqual([[], [], []]);
  expect(await seenBy({ tenant: "acme/agent", agent: "ann" })).toEqual([[], [], []]);
});

it("reads nothing in a query as syntax", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  await of(memory.provider, { ...ann, agent: "bob" }).write("secret of bob", "agent", []);
  await hers.write("plain near and or not content shelf", "agent", []);
  const hostile = [
    'secret" OR shelf : "',
    "secret*",
    "^secret",
    "content : secret",
    "NEAR(secret bob)",
    "secret OR NOT plain",
    "{content tags} : secret",
    "') or 1=1 --",
    '"',
    "\\",
    "\0secret",
    "*",
    "()",
    "AND",
  ];
  for (const query of hostile) expect(await contents(hers, query)).not.toContain("secret of bob");
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", minLength: 1, maxLength: 200 }), async (query) => {
      expect(await contents(hers, query)).not.toContain("secret of bob");
    }),
    { numRuns: 1_000 },
  );
});

it("finds every memory by a word of its own", async () => {
  using memory = await openEmbeddedMemory(":memory:");
  const hers = of(memory.provider, ann);
  const word = fc.stringMatching(/^[a-z]{3,12}$/);
  await fc.assert(
    fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 9 }), fc.nat(), async (words, n) => {
      const content = `${words.join(" ")} ${n}`;
      await hers.write(content, "agent", []);
      expect(await contents(hers, content, "agent", 50)).toContain(content);
    }),
    { numRuns: 100 },
  );
});

it("stores the same content once", async () => {
  const clock = new FakeClock();
  using memory = await openEmbeddedMemory(":memory:", { clock });
  const hers = of(memory.provider, ann);
  const first = await hers.write("tea", "agent", ["a"]);
  expect(await hers.write("tea", "agent", ["b"])).toEqual(first);
  expect(memory.size).toBe(1);
  expect(await hers.recall("tea", "agent", 9)).toEqual([
    { ...first, content: "tea", scope: "agent", tags: ["a"], at: clock.now() },
  ]);
});

it("keeps memories in a file that only its owner can read", async () => {
  const file = join(folder, "memory.db");
  {
    using memory = await openEmbeddedMemory(file);
    await of(memory.provider, ann).write("tea", "agent", []);
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
  using again = await openEmbeddedMemory(file);
  expect(await contents(of(again.provider, ann), "tea")).toEqual(["tea"]);
});

it("refuses a file that is no memory, and a link", async () => {
  const text = join(folder, "notes.txt");
  writeFileSync(text, "my notes ".repeat(999));
  await expect(openEmbeddedMemory(text)).rejects.toThrow("cannot be opened as a memory");
  expect(readFileSync(text, "utf8")).toBe("my notes ".repeat(999));
  const { DatabaseSync } = await import("node:sqlite");
  const other = new DatabaseSync(join(folder, "other.db"));
  other.exec("create table t (a)");
  other.close();
  await expect(openEmbeddedMemory(join(folder, "other.db"))).rejects.toThrow("is not a memory of this version");
  symlinkSync(text, join(folder, "link"));
  await expect(openEmbeddedMemory(join(folder, "link"))).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("cannot be opened as a memory"),
  });
});

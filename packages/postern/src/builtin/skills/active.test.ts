import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { bent } from "../../../../../test/fakes/log-store.ts";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { skillText, writeSkill } from "../../../../../test/fakes/skill-folder.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { alwaysOffered } from "../../policy/policy.ts";
import { MemoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { ActiveRuns, type SkillKeeping } from "./active.ts";
import { defineSkill } from "./define-skill.ts";
import { openSkills } from "./open-skills.ts";

const folder = ownFolder();
const run = { tenant: "acme", runId: "run_1" };
const given = (name: string, ...allowedTools: readonly string[]) =>
  defineSkill({ name, instructions: `Do ${name}.`, allowedTools });
const skills = [given("one", "echo", "mail"), given("two", "drop"), given("free")];

let store: Store;
let keep: SkillKeeping;
beforeEach(() => {
  const clock = new FakeClock();
  store = new MemoryStore({ clock, serialize: (event) => JSON.stringify(event) });
  keep = { store, clock, policy: { version: "p1" } };
});

it("restricts to the union of the lists, and always permits finding skills", async () => {
  const library = await openSkills({ folders: [], skills });
  expect(library.activeFor("acme", "run_1")).toBeUndefined();
  await library.activate(run, "free");
  expect(library.activeFor("acme", "run_1")).toEqual({ names: ["free"], allowedTools: undefined });
  await library.activate(run, "one");
  await library.activate(run, "two");
  expect(library.activeFor("acme", "run_1")).toEqual({
    names: ["free", "one", "two"],
    allowedTools: ["echo", "mail", "drop", ...alwaysOffered],
  });
  expect(library.requests(run)).toEqual([
    { skill: "free", tools: [] },
    { skill: "one", tools: ["echo", "mail"] },
    { skill: "two", tools: ["drop"] },
  ]);
  expect(library.activeFor("acme", "run_2")).toBeUndefined();
  expect(library.activeFor("other", "run_1")).toBeUndefined();
  await library.deactivate(run, "one");
  expect(library.activeFor("acme", "run_1")?.allowedTools).toEqual(["drop", ...alwaysOffered]);
  await library.deactivate(run, "two");
  await library.deactivate(run, "free");
  expect(library.activeFor("acme", "run_1")).toBeUndefined();
  expect(await library.deactivate(run, "free")).toBe(false);
});

it("survives a restart with its restriction, also if the skill's file is gone or changed", async () => {
  const path = writeSkill(folder, "kept", skillText("name: kept\ndescription: d\nallowed-tools: echo", "First words."));
  const first = await openSkills({ folders: [folder] }, { keep });
  await first.activate(run, "kept");
  await first.activate({ tenant: "a/b", runId: "r" }, "kept");
  writeFileSync(
    join(path, "SKILL.md"),
    skillText("name: kept\ndescription: d\nallowed-tools: echo mail drop", "Other words."),
  );
  expect(first.instructions(run)).toBe("# Skill: kept\n\nFirst words.");
  const told: string[] = [];
  const second = await openSkills({ folders: [folder] }, { keep, log: (message) => void told.push(message) });
  expect(second.activeFor("acme", "run_1")?.allowedTools).toEqual(["echo", ...alwaysOffered]);
  expect(second.active({ tenant: "a/b", runId: "r" })).toEqual(["kept"]);
  expect(second.instructions(run)).toBe("# Skill: kept\n\nOther words.");
  expect(told).toEqual(["Skill `kept` is active in run `run_1` with other instructions than it was activated with."]);
  const third = await openSkills({ folders: [] }, { keep, log: (message) => void told.push(message) });
  expect(third.instructions(run)).toBe("");
  expect(third.instructions(run)).toBe("");
  expect(told.slice(1)).toEqual([expect.stringMatching(/continues without the instructions of an active skill/)]);
  expect(third.activeFor("acme", "run_1")?.allowedTools).toEqual(["echo", ...alwaysOffered]);
  expect(await third.deactivate(run, "kept")).toBe(true);
  expect((await openSkills({ folders: [] }, { keep })).active(run)).toEqual([]);
});

it("writes each change once, with its author", async () => {
  const library = await openSkills({ folders: [], skills }, { keep });
  const agent = { tenant: "acme", agent: "bot" };
  await Promise.all([
    library.activate(run, "one", agent),
    library.activate(run, "one", agent),
    library.activate(run, "two", actor("boss")),
  ]);
  await library.deactivate(run, "one", actor("boss"));
  const events: { type: string; by?: string; principal?: unknown; data: unknown }[] = [];
  for await (const { body } of store.events({ after: -1 })) events.push(JSON.parse(body));
  expect(events.map(({ type, by, principal }) => [type, by ?? principal])).toEqual([
    ["skill.activated", agent],
    ["skill.activated", "boss"],
    ["skill.deactivated", "boss"],
  ]);
  expect(events[0]?.data).toMatchObject({
    run_id: "run_1",
    skill: "one",
    version: "1",
    allowed_tools: ["echo", "mail"],
  });
  expect(library.active(run)).toEqual(["two"]);
});

it("loses nothing if two processes change one run", async () => {
  const here = await openSkills({ folders: [], skills }, { keep });
  const there = await openSkills({ folders: [], skills }, { keep });
  await here.activate(run, "one");
  await there.activate(run, "two");
  expect(there.active(run)).toEqual(["one", "two"]);
  expect((await openSkills({ folders: [] }, { keep })).active(run)).toEqual(["one", "two"]);
});

it("does not start with a document of another program", async () => {
  for (const body of [[], { tenant: "a", run_id: "r", skills: [{ name: "x" }] }, { tenant: "a", run_id: "r" }]) {
    const clock = new FakeClock();
    const strange = new MemoryStore({ clock, serialize: () => "{}" });
    await strange.commit(
      { write: "document", kind: "active-skills", id: "a/r", body, expectedVersion: 0 },
      "committed",
    );
    await expect(
      openSkills({ folders: [] }, { keep: { store: strange, clock, policy: { version: "p" } } }),
    ).rejects.toMatchObject({ code: "internal", message: expect.stringContaining("a run's active skills") });
  }
});

it("is not active if it could not be written", async () => {
  const full = { ...keep, store: bent(store, { commit: () => Promise.reject(new Error("disk full")) }) };
  const library = await openSkills({ folders: [], skills }, { keep: full });
  await expect(library.activate(run, "one")).rejects.toThrow("disk full");
  expect(library.activeFor("acme", "run_1")).toBeUndefined();
});

it("refuses an invalid run, and too many skills", async () => {
  const many = Array.from({ length: 33 }, (_, i) => given(`s${i}`));
  const library = await openSkills({ folders: [], skills: many });
  for (const runId of ["", "../x", "a/b", "x".repeat(65)])
    await expect(library.activate({ tenant: "acme", runId }, "s0")).rejects.toMatchObject({ code: "context_invalid" });
  await expect(library.activate({ tenant: "", runId: "r" }, "s0")).rejects.toMatchObject({ code: "context_invalid" });
  for (const { name } of many.slice(0, 32)) await library.activate(run, name);
  await expect(library.activate(run, "s32")).rejects.toMatchObject({
    code: "skill_refused",
    message: expect.stringContaining("32 skills are active"),
  });
  await expect(library.activate(run, "nope")).rejects.toMatchObject({ code: "skill_unknown" });
});

it("only restricts: no tool is allowed that no list names", async () => {
  const tool = fc.constantFrom("echo", "mail", "drop", "read", "mail__*");
  const skill = fc.record({
    name: fc.constantFrom("a", "b", "c", "d"),
    version: fc.constant("1"),
    digest: fc.constant("x"),
    allowedTools: fc.array(tool, { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.boolean(), skill), { maxLength: 12 }), async (changes) => {
      const runs = await ActiveRuns.open(undefined);
      for (const [adds, one] of changes)
        await (adds ? runs.add(run, one, undefined) : runs.remove(run, one.name, undefined));
      const active = runs.skillsOf(run);
      const named = new Set(active.flatMap(({ allowedTools }) => allowedTools));
      const allowed = runs.factsFor("acme", "run_1")?.allowedTools;
      expect(allowed === undefined).toBe(named.size === 0);
      expect(new Set(allowed ?? alwaysOffered)).toEqual(new Set([...named, ...alwaysOffered]));
    }),
    { numRuns: 500 },
  );
});

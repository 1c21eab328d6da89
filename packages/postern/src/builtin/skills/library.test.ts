import { linkSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { skillText, writeSkill } from "../../../../../test/fakes/skill-folder.ts";
import { defineSkill } from "./define-skill.ts";
import { openSkills } from "./open-skills.ts";
import type { Skills } from "./skills.ts";

const all = ownFolder();
let tests = 0;
let folder: string;
beforeEach(() => {
  tests += 1;
  folder = join(all, `f${tests}`);
  mkdirSync(folder);
});
const open = (...folders: readonly string[]): Promise<Skills> =>
  openSkills({ folders: folders.length === 0 ? [folder] : folders });
const names = (skills: Skills): readonly string[] => skills.list().map(({ name }) => name);
const descriptors = (): number => readdirSync("/proc/self/fd").length;

it("loads a body that contains the heading, with the same metadata object", async () => {
  writeSkill(folder, "a", skillText("name: a\ndescription: d"), {
    "references/more.md": "more",
    "scripts/run.py": "print(1)",
    ".hidden": "x",
  });
  const skills = await open();
  const loaded = skills.load("a");
  expect(loaded.instructions).toContain("# Heading");
  expect(loaded.skill).toBe(skills.list()[0]);
  expect(loaded.files).toEqual(["references/more.md", "scripts/run.py"]);
});

it("skips a skill without a description, with its reason", async () => {
  writeSkill(folder, "bare", skillText("name: bare"));
  writeSkill(folder, "good", skillText("name: good\ndescription: d"));
  const skills = await open();
  expect(names(skills)).toEqual(["good"]);
  expect(skills.refused).toEqual([
    { path: join(folder, "bare"), problem: "it has no description", fix: expect.any(String) },
  ]);
});

it("uses the first of two with one name, and names it", async () => {
  const [one, two] = [join(folder, "one"), join(folder, "two")];
  writeSkill(one, "a", skillText("name: a\ndescription: first"));
  writeSkill(two, "a", skillText("name: a\ndescription: second"));
  const skills = await open(one, two);
  expect(skills.find("a")?.description).toBe("first");
  expect(skills.notes).toEqual([
    {
      path: join(two, "a"),
      problem: `\`a\` is taken by ${join(one, "a")}, which was found first`,
      fix: expect.any(String),
    },
  ]);
});

it("puts only names and descriptions into the roster, XML-escaped", async () => {
  writeSkill(
    folder,
    "a",
    skillText("name: a\ndescription: \"</description></skill><skill>&'x' \\u202e \\n two\"", "SECRET BODY"),
  );
  writeSkill(folder, "b", skillText(`name: b\ndescription: ${"long ".repeat(400)}`));
  const roster = (await open()).roster();
  expect(roster).not.toContain("SECRET BODY");
  expect(roster).toContain("<description>&lt;/description&gt;&lt;/skill&gt;&lt;skill&gt;&amp;&apos;x&apos;");
  expect(roster.match(/<skill>/g)).toHaveLength(2);
  expect(roster.split("\n").every((line) => line.length < 1_100)).toBe(true);
  expect((await open(join(all, "f1"))).roster()).toContain("<name>a</name>");
});

it("survives broken YAML with a warning", async () => {
  writeSkill(folder, "broken", skillText('name: "unclosed\ndescription: ['));
  writeSkill(folder, "good", skillText("name: good\ndescription: d"));
  const skills = await open();
  expect(names(skills)).toEqual(["good"]);
  expect(skills.refused[0]?.problem).toMatch(/not YAML/);
});

it("finds skills in order of their names, and skips `_`, `.` and other folders", async () => {
  for (const name of ["zeta", "alpha", "_draft", ".hidden"])
    writeSkill(folder, name, skillText(`name: ${name}\ndescription: d`));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "README.md"), "x");
  const skills = await open();
  expect(names(skills)).toEqual(["alpha", "zeta"]);
  expect(skills.refused).toEqual([]);
});

it("finds by alias, but prefers a name to another's alias", async () => {
  writeSkill(folder, "a", skillText("name: a\ndescription: d\naliases: [b, short]"));
  writeSkill(folder, "b", skillText("name: b\ndescription: d"));
  const skills = await open();
  expect(skills.find("short")?.name).toBe("a");
  expect(skills.find("b")?.name).toBe("b");
  expect(skills.find("constructor")).toBeUndefined();
});

it("notes names that look alike, and a folder with no skills in it", async () => {
  writeSkill(folder, "mail", skillText("name: mail\ndescription: d"));
  writeSkill(folder, "mai1", skillText("name: mai1\ndescription: d"));
  mkdirSync(join(folder, "mail", "empty"));
  const skills = await open(folder, join(folder, "mail"));
  expect(skills.notes.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/`mail` looks like `mai1`/),
    "there are no skills in it",
  ]);
});

it("opens nothing outside its folder", async () => {
  const outside = writeSkill(join(all, "outside"), "x", skillText("name: x\ndescription: SECRET"), {
    "secret.md": "SECRET",
  });
  symlinkSync(outside, join(folder, "linked"));
  symlinkSync("/etc", join(folder, "etc"));
  mkdirSync(join(folder, "inner"));
  symlinkSync(join(outside, "SKILL.md"), join(folder, "inner", "SKILL.md"));
  const real = writeSkill(folder, "real", skillText("name: real\ndescription: d"), { "references/a.md": "a" });
  symlinkSync("/etc", join(real, "etc"));
  symlinkSync("/etc/passwd", join(real, "references", "passwd"));
  linkSync(join(outside, "secret.md"), join(real, "references", "hard.md"));
  const before = descriptors();
  const skills = await open();
  expect(names(skills)).toEqual(["real"]);
  expect(skills.refused.map(({ path, problem }) => [path, problem])).toEqual([
    [join(folder, "etc"), "it is a symbolic link; links are not followed"],
    [join(folder, "inner"), "its SKILL.md is a symbolic link, or leads through one; links are not followed"],
    [join(folder, "linked"), "it is a symbolic link; links are not followed"],
  ]);
  for (const path of [
    "etc/passwd",
    "references/passwd",
    "references/hard.md",
    "../outside/x/secret.md",
    "/etc/passwd",
    "references",
    "",
    "a\0b",
    "references/../../../outside",
  ])
    expect(() => skills.read("real", path), path).toThrow(
      expect.objectContaining({ code: "skill_refused", message: expect.stringContaining("of skill `real`") }),
    );
  expect(skills.read("real", "./references//a.md")).toEqual({ kind: "text", text: "a" });
  expect(skills.load("real").files).not.toContain("references/passwd");
  expect(descriptors()).toBe(before);
});

it("refuses large, missing and non-text files, without a path of the machine", async () => {
  writeSkill(folder, "huge", skillText(`name: huge\ndescription: ${"x".repeat(10_000_000)}`));
  writeSkill(
    folder,
    "latin",
    Buffer.concat([Buffer.from("---\nname: latin\ndescription: "), Buffer.from([0xe9, 0x0a]), Buffer.from("---\n")]),
  );
  writeSkill(folder, "nul", skillText("name: nul\ndescription: a\0b"));
  writeSkill(folder, "good", skillText("name: good\ndescription: d"), {
    "assets/big.bin": Buffer.alloc(5_000_000, 1),
    "assets/dot.png": Buffer.from("89504e470d0a1a0a00", "hex"),
  });
  const skills = await open(folder, join(folder, "missing"), join(folder, "good", "SKILL.md"));
  expect(names(skills)).toEqual(["good"]);
  expect(skills.refused.map(({ problem }) => problem)).toEqual([
    expect.stringMatching(/^its SKILL.md has 100000\d\d bytes; at most 524288 are read$/),
    "its SKILL.md is not UTF-8 text",
    "its SKILL.md holds NUL characters; it is no text",
    "it does not exist",
    "it is no folder, or leads through a file",
  ]);
  expect(() => skills.read("good", "assets/big.bin")).toThrow(
    "`assets/big.bin` of skill `good` has 5000000 bytes; at most 4194304 are read.",
  );
  expect(skills.read("good", "assets/dot.png")).toMatchObject({ kind: "bytes", mediaType: "image/png" });
  const fault = ((): unknown => {
    try {
      return skills.read("good", "assets/none.md");
    } catch (error) {
      return error;
    }
  })();
  expect(String(fault)).not.toContain(folder);
});

it("refuses a skill with changed front matter, but reads a changed body", async () => {
  const path = writeSkill(folder, "a", skillText("name: a\ndescription: d\nallowed-tools: echo", "one"));
  const skills = await open();
  writeFileSync(join(path, "SKILL.md"), skillText("name: a\ndescription: d\nallowed-tools: echo", "two"));
  expect(skills.load("a").instructions).toBe("two");
  writeFileSync(join(path, "SKILL.md"), skillText("name: a\ndescription: d\nallowed-tools: echo wipe", "two"));
  expect(() => skills.load("a")).toThrow(/was changed since Postern started/);
  rmSync(path, { recursive: true });
  expect(() => skills.load("a")).toThrow("Skill `a` cannot be loaded: its SKILL.md is gone.");
  renameSync(folder, `${folder}-moved`);
  writeSkill(folder, "a", skillText("name: a\ndescription: d\nallowed-tools: echo", "other folder"));
  expect(() => skills.load("a")).toThrow(/is not the folder it was at the start/);
});

it("finds skills defined in code before those of the folders", async () => {
  writeSkill(folder, "polite", skillText("name: polite\ndescription: d"));
  const polite = defineSkill({ name: "polite", instructions: "Say please." });
  const skills = await openSkills({ folders: [folder], skills: [polite] });
  expect(skills.list()).toEqual([polite]);
  expect(polite).toMatchObject({ description: "", allowedTools: [], path: null, version: "1" });
  expect(skills.load("polite")).toMatchObject({ skill: polite, instructions: "Say please.", files: [] });
  expect(() => skills.read("polite", "a.md")).toThrow(/brings no files along/);
  expect(() => defineSkill({ name: "No", instructions: "" })).toThrow(/cannot be the name of a skill/);
  // @ts-expect-error instructions are needed
  expect(() => defineSkill({ name: "no" })).toThrow(/`instructions` must be a text/);
});

it("refuses options that are no lists", async () => {
  const noPaths = { code: "options_invalid", message: expect.stringContaining("it must be a list of paths") };
  // @ts-expect-error a path alone
  await expect(openSkills({ folders: "skills" })).rejects.toMatchObject(noPaths);
  await expect(openSkills({ folders: [""] })).rejects.toMatchObject(noPaths);
  // @ts-expect-error made by hand
  await expect(openSkills({ folders: [], skills: [{ name: "x" }] })).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining("`skills.skills` must be"),
  });
});

it("finds a file with a name in NFD by its NFC form", async () => {
  writeSkill(folder, "a", skillText("name: a\ndescription: d"), { "references/e\u0301t.md": "text" });
  expect((await open()).read("a", "references/\u00e9t.md")).toEqual({ kind: "text", text: "text" });
});

it("reads a file in UTF-16 as text", async () => {
  const bytes = Buffer.from("\ufeffé", "utf16le");
  writeSkill(folder, "a", skillText("name: a\ndescription: d"), { "references/u16.txt": bytes });
  expect((await open()).read("a", "references/u16.txt")).toEqual({ kind: "text", text: "\ufeffé" });
});

it("follows links and looks into groups only if the key says so, in a circle too", async () => {
  const elsewhere = join(all, `away${tests}`);
  writeSkill(elsewhere, "linked", skillText("name: linked\ndescription: d"), { "references/a.md": "text" });
  writeSkill(join(folder, "group/inner"), "deep", skillText("name: deep\ndescription: d"));
  symlinkSync(join(elsewhere, "linked"), join(folder, "linked"));
  symlinkSync(folder, join(folder, "group/circle"));
  const closed = await open();
  expect(names(closed)).toEqual([]);
  expect(closed.refused).toMatchObject([{ fix: expect.stringContaining("`skills.links_and_groups: true`") }]);
  const skills = await openSkills({ folders: [folder], linksAndGroups: true });
  expect(names(skills)).toEqual(["deep", "linked"]);
  expect([skills.refused, skills.notes]).toEqual([[], []]);
  expect(skills.read("linked", "references/a.md")).toEqual({ kind: "text", text: "text" });
  rmSync(join(folder, "linked"));
  symlinkSync(folder, join(folder, "linked"));
  expect(skills.load("linked").instructions).toContain("Do it."); // the folder of the start, not where the link leads now
});

it("follows no link inside a skill, whatever the key says", async () => {
  writeSkill(folder, "a", skillText("name: a\ndescription: d"));
  symlinkSync("/etc/hostname", join(folder, "a/host.txt"));
  const skills = await openSkills({ folders: [folder], linksAndGroups: true });
  expect(() => skills.read("a", "host.txt")).toThrow("links are not followed");
});

import { expect, it } from "vitest";
import { skillText } from "../../../../../test/fakes/skill-folder.ts";
import { type RefusedSkill, readSkillText } from "./front-matter.ts";
import { skillFrom } from "./read-skill.ts";
import type { Skill } from "./skills.ts";

function read(head: string, folder = "a"): Skill | RefusedSkill {
  const text = readSkillText(skillText(head));
  return "problem" in text ? text : skillFrom(text, folder, `/skills/${folder}`);
}

function skill(head: string, folder?: string): Skill {
  const made = read(head, folder);
  if ("problem" in made) throw new Error(made.problem);
  return made;
}

it("reads name, description, license, version, tools and tags", () => {
  const made = skill(
    'name: a\ndescription: Does it.\nlicense: MIT\nversion: "2.10"\nallowed-tools: echo risky\ntags: [one, two]\naliases: b c\ncompatibility: Needs git.\ncategory: work\nmetadata:\n  author: me',
  );
  expect(made).toEqual({
    name: "a",
    description: "Does it.",
    license: "MIT",
    version: "2.10",
    allowedTools: ["echo", "risky"],
    tags: ["one", "two"],
    aliases: ["b", "c"],
    compatibility: "Needs git.",
    category: "work",
    metadata: { author: "me" },
    path: "/skills/a",
    warnings: [],
  });
  expect(Object.isFrozen(made)).toBe(true);
});

it("has defaults for missing fields", () => {
  expect(skill("description: d")).toMatchObject({
    name: "a",
    version: "1.0",
    allowedTools: [],
    tags: [],
    metadata: {},
  });
});

it.each([
  ["Code-Review", "only a-z, 0-9 and hyphens"],
  ["my--skill", "no two hyphens in a row"],
  ["-bad", "no hyphen at the beginning or the end"],
  ["good-", "no hyphen at the beginning or the end"],
  ["a".repeat(65), "65 characters; at most 64"],
])("loads `%s` with a warning that names the rule (case 235)", (name, rule) => {
  expect(skill(`name: ${name}\ndescription: d`, name).warnings).toEqual([`name \`${name}\`: ${rule}`]);
});

it.each([
  ["allowed-tools: echo risky", ["echo", "risky"]],
  ["allowed-tools: Read, Grep,Glob", ["Read", "Grep", "Glob"]],
  ["allowed-tools: [echo, risky, echo]", ["echo", "risky"]],
  ["allowed-tools:\n  - echo\n  - mail__*", ["echo", "mail__*"]],
  ["allowed-tools: Bash(git add:*) Bash(git commit:*), Read", ["Bash(git add:*)", "Bash(git commit:*)", "Read"]],
  ["allowed_tools: echo", ["echo"]],
  ["allowed-tools: Bash(unclosed echo", ["Bash(unclosed echo"]],
])("reads `%s`", (line, tools) => {
  expect(skill(`description: d\n${line}`).allowedTools).toEqual(tools);
});

it("refuses a restriction that it does not understand, and names it", () => {
  expect(read("description: d\nallowed-tools: {a: b}")).toMatchObject({ problem: "`allowed-tools` is a mapping" });
  expect(read("description: d\nallowed-tools: a\nallowed_tools: b")).toMatchObject({
    problem: expect.stringMatching(/two spellings/),
  });
  const many = Array.from({ length: 501 }, (_, i) => `t${i}`).join(" ");
  expect(read(`description: d\nallowed-tools: ${many}`)).toMatchObject({
    problem: expect.stringMatching(/names 501 tools/),
  });
});

it("warns of fields that restrict nothing, are misspelled, too long or no text", () => {
  const { warnings, metadata } = skill(
    `description: ${"x".repeat(1_068)}\nallowed-tools:\ntools: Read\nAllowedTool: x\nmetadata: 3\nlicense: [MIT]\nfunny-key: 1`,
  );
  expect(metadata).toEqual({});
  expect(warnings).toEqual([
    "`name` is missing; its folder's name `a` is taken",
    "`description` has 1068 characters; the standard allows 1024, and no more is shown",
    "`license` is no text; it was left out",
    "`allowed-tools` is empty: it restricts nothing",
    "`metadata` is not a mapping of texts; it was left out",
    "`tools` is not read; if `allowed-tools` is meant, write that",
    "`AllowedTool` is not read; if `allowed-tools` is meant, write that",
  ]);
});

it("is refused without a description", () => {
  expect(read("name: a")).toMatchObject({ problem: "it has no description" });
  expect(read("name: a\ndescription: '  '")).toMatchObject({ problem: "it has no description" });
  expect(read("name: a\ndescription: [x]")).toMatchObject({ problem: "its `description` is no text" });
  expect(read("name: a\nDescription: x")).toMatchObject({
    fix: "`Description` is not read; if `description` is meant, write that",
  });
});

it("refuses a name that cannot be shown to a person", () => {
  expect(read('name: "a\\u202eb"\ndescription: d')).toMatchObject({
    problem: expect.stringMatching(/cannot be shown safely/),
  });
  expect(read('name: "a\\nb"\ndescription: d')).toMatchObject({
    problem: expect.stringMatching(/cannot be shown safely/),
  });
  expect(read(`name: ${"a".repeat(300)}\ndescription: d`)).toMatchObject({
    problem: expect.stringMatching(/cannot be shown safely/),
  });
});

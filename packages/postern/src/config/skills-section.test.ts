import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../test/fakes/config-folder.ts";

const folder = new ConfigFolder();
afterAll(() => folder[Symbol.dispose]());

it("reads folders of skills relative to the file; none by default", async () => {
  const { skillFolders } = await folder.load("skills:\n  folders: [skills, /usr/share/skills]\n");
  expect(skillFolders).toEqual([join(folder.path, "skills"), "/usr/share/skills"]);
  expect((await folder.load("version: 1\n")).skillFolders).toEqual([]);
  expect((await folder.load("skills: {}\n")).skillFolders).toEqual([]);
});

it("names a mistake in the section and its place", async () => {
  expect(await problemsOf(folder.load("skills:\n  folder: [skills]\n"))).toEqual([
    expect.stringMatching(/^FILE:2:3 skills.folder: .*Did you mean `folders`\?/),
  ]);
  expect(await problemsOf(folder.load("skills:\n  folders: skills\n"))).toEqual([
    expect.stringMatching(/^FILE:2:\d+ skills.folders: /),
  ]);
});

it("reads which skills are attached to which agents, by their own names", async () => {
  const written =
    "skills:\n  folders: [skills]\n  agents:\n    local-agent: [letters]\n    my_bot: [letters, tables]\n";
  expect((await folder.load(written)).skillAgents).toEqual({
    "local-agent": ["letters"],
    my_bot: ["letters", "tables"],
  });
  expect(await problemsOf(folder.load("skills:\n  agents:\n    bot: letters\n"))).toEqual([
    expect.stringMatching(/^FILE:3:\d+ skills.agents.bot: /),
  ]);
});

it("reads whether links are followed and groups looked into; not by default", async () => {
  expect((await folder.load("skills: { folders: [skills] }\n")).skillLinksAndGroups).toBe(false);
  expect((await folder.load("skills: { links_and_groups: true }\n")).skillLinksAndGroups).toBe(true);
});

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openSkills } from "../../../packages/postern/src/builtin/index.ts";
import { corpus } from "../../fakes/corpus.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { skillText, writeSkill } from "../../fakes/skill-folder.ts";

const folder = ownFolder();

it("no path of a published collection reads outside a skill's folder", async () => {
  const inside = join(folder, "paths");
  const path = writeSkill(inside, "a", skillText("name: a\ndescription: d"), { "references/a.md": "INSIDE" });
  writeSkill(inside, "b", skillText("name: b\ndescription: d", "OUTSIDE"));
  writeFileSync(join(folder, "secret"), "OUTSIDE");
  const skills = await openSkills({ folders: [inside] });
  const forms = (text: string): readonly string[] => {
    const once = decoded(text);
    return [text, once, decoded(once), `${path}/${text}`, `references/${text}`];
  };
  const payloads = corpus<{ readonly p: string }>("path-traversal/payloads.dev.json").flatMap(({ p }) => forms(p));
  let opened = 0;
  for (const payload of [...payloads, "../b/SKILL.md", "references/../../b/SKILL.md", "/etc/passwd", "..", ".", ""]) {
    try {
      const read = skills.read("a", payload);
      opened += 1;
      expect(read).not.toMatchObject({ text: expect.stringContaining("OUTSIDE") });
    } catch (error) {
      expect(error, payload).toMatchObject({ code: "skill_refused", message: expect.stringContaining(" of skill ") });
      if (payload !== "" && !payload.includes(inside)) expect(String(error)).not.toContain(inside);
    }
  }
  expect(opened).toBe(0);
  expect(skills.read("a", "references/a.md")).toEqual({ kind: "text", text: "INSIDE" });
});

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

it("naughty strings stay unchanged as descriptions, and are escaped in the roster", async () => {
  const strings = corpus<{ readonly s: string } | string>("naughty-strings/blns.dev.json").map((row) =>
    typeof row === "string" ? row : (Object.values(row)[0] ?? ""),
  );
  const own = join(folder, "naughty");
  mkdirSync(own);
  for (const [i, text] of strings.entries())
    writeSkill(own, `s-${i}`, skillText(`name: s-${i}\ndescription: ${JSON.stringify(text)}`));
  const skills = await openSkills({ folders: [own] });
  for (const [i, text] of strings.entries()) {
    const found = skills.find(`s-${i}`);
    if (found === undefined)
      expect(
        skills.refused.map(({ path }) => path),
        text,
      ).toContain(join(own, `s-${i}`));
    else expect(found.description).toBe(text.trim());
    expect(() => skills.load(`nope ${text}`)).toThrow(expect.objectContaining({ code: "skill_unknown" }));
  }
  const roster = skills.roster();
  expect(roster.match(/<skill>/g)?.length ?? 0).toBe(skills.list().length);
  expect(roster.replaceAll(/<\/?(?:available_skills|skill|name|description)>/g, "")).not.toMatch(/[<>]/);
});

it("any bytes are a skill, or are refused with a reason", async () => {
  const own = join(folder, "bytes");
  const header = fc.constantFrom(
    "---\n",
    "---\ndescription: d\n",
    "---\ndescription: d\nallowed-tools: ",
    "\uFEFF---\r\n",
    "",
  );
  const rest = fc.uint8Array({ maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(header, rest, fc.constantFrom("\n---\n", ""), async (begin, bytes, end) => {
      const path = writeSkill(own, "x", Buffer.concat([Buffer.from(begin), bytes, Buffer.from(end)]));
      const before = readFileSync(join(path, "SKILL.md"));
      const skills = await openSkills({ folders: [own] });
      expect(skills.list().length + skills.refused.length).toBe(1);
      for (const { name } of skills.list()) skills.load(name);
      expect(readFileSync(join(path, "SKILL.md"))).toEqual(before);
    }),
    { numRuns: 300 },
  );
});

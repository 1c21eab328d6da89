import fc from "fast-check";
import { expect, it } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { skillText } from "../../../../../test/fakes/skill-folder.ts";
import { type RefusedSkill, readSkillText, type SkillText } from "./front-matter.ts";

function good(text: string): SkillText {
  const read = readSkillText(text);
  if ("problem" in read) throw new Error(read.problem);
  return read;
}

function bad(text: string): RefusedSkill {
  const read = readSkillText(text);
  if (!("problem" in read)) throw new Error("it was read");
  return read;
}

it("splits head and body with any line breaks, a byte order mark and rulers", () => {
  const text = skillText("name: a\ndescription: d", "# H\n\n---\n\nmore\n---\n");
  for (const spelled of [text, text.replaceAll("\n", "\r\n"), text.replaceAll("\n", "\r"), `\uFEFF${text}`]) {
    const read = good(spelled);
    expect(read.fields.get("name")).toBe("a");
    expect(read.body).toBe("# H\n\n---\n\nmore\n---");
  }
  expect(good("--- \nname: a\n---").body).toBe("");
});

it("keeps every scalar as text", () => {
  const { fields } = good(
    skillText("version: 1.0\nlicense: yes\ncategory: 0x10\ndescription: |\n  two\n  lines\ntags: [1, no]"),
  );
  expect(Object.fromEntries(fields)).toEqual({
    version: "1.0",
    license: "yes",
    category: "0x10",
    description: "two\nlines\n",
    tags: ["1", "no"],
  });
});

it("names the line in the file, and what to do", () => {
  expect(bad(skillText("name: a\nname: b"))).toEqual({
    problem: "its front matter is not YAML: Map keys must be unique at line 3, column 1",
    fix: "Keep one of the two; which one should win is not guessed.",
  });
  expect(bad("name: a").problem).toBe("it does not begin with `---`");
  expect(bad("---\nname: a\n").problem).toBe("its front matter does not end");
  expect(bad("---\n---\nx").problem).toBe("its front matter holds no keys");
  expect(bad(skillText("- a")).problem).toBe("its front matter holds no keys");
  expect(bad(skillText("? [a]\n: 1")).problem).toBe("its front matter has a key that is no text");
});

it("reads common mistakes line by line: a colon, a hint in brackets, a star", () => {
  const { fields, warnings } = good(
    skillText(
      'name: a\ndescription: Use when: it is asked "so"\nargument-hint: [file] [--flag]\nglobs: *.ts\nallowed-tools: Read Bash(git:*)\nmetadata:\n  by: me',
    ),
  );
  expect(fields.get("description")).toBe('Use when: it is asked "so"');
  expect(fields.get("allowed-tools")).toBe("Read Bash(git:*)");
  expect(fields.get("metadata")).toEqual(new Map([["by", "me"]]));
  expect(warnings[0]).toMatch(/^front matter is not YAML \(.*line 3.*\) and was read line by line/);
});

it("refuses a list of tools that cannot be read", () => {
  expect(bad(skillText("description: d\nallowed-tools: *")).problem).toMatch(/not YAML/);
  expect(bad(skillText("description: d\nallowed-tools: [Read, {a: b}]")).problem).toMatch(/not a text or a list/);
  expect(bad(skillText("description: d: e\nallowed-tools: [Read")).problem).toMatch(/not YAML/);
});

it("expands no alias, and refuses an alias bomb at once", async () => {
  const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (let letter = 98; letter < 123; letter += 1) {
    const [before, own] = [String.fromCharCode(letter - 1), String.fromCharCode(letter)];
    bomb.push(`${own}: &${own} [${Array(9).fill(`*${before}`).join(", ")}]`);
  }
  await expectWork(1_000, () => {
    expect(bad(skillText(`description: d\n${bomb.join("\n")}`)).problem).toMatch(/uses aliases/);
    expect(bad(skillText("a: &a hello\ndescription: *a")).problem).toMatch(/uses aliases/);
    expect(bad(skillText("base: &b {description: d}\n<<: *b")).problem).toMatch(/uses aliases/);
  });
});

it("survives deep nesting and large input", async () => {
  const lists = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
  const deep = ["[".repeat(60_000), lists, "a: ".repeat(20_000), "- ".repeat(30_000), "? ".repeat(30_000)];
  await expectWork(10_000, () => {
    for (const metadata of deep) readSkillText(skillText(`description: d\nmetadata: ${metadata}`));
    expect(bad(skillText(`description: ${"x".repeat(70_000)}`)).problem).toMatch(/front matter has 70\d+ bytes/);
  });
});

it("reads `__proto__` and `constructor` as words", () => {
  const { fields } = good(
    skillText("description: d\n__proto__: {polluted: yes}\nconstructor: x\nmetadata: {__proto__: x, constructor: y}"),
  );
  expect(fields.get("metadata")).toEqual(new Map([["constructor", "y"]]));
  expect("polluted" in {}).toBe(false);
});

it("refuses tabs as indentation and tags", () => {
  expect(bad(skillText("description: d\nmetadata:\n\tby: me")).problem).toMatch(/not YAML/);
  expect(bad(skillText("description: !!js/function x")).problem).toMatch(/not YAML: Unresolved tag/);
});

it("returns fields or a reason for any text, and never throws", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "---\n",
      "\n",
      "name: ",
      "description: ",
      "allowed-tools: ",
      "&a ",
      "*a",
      "[",
      "]",
      "{",
      "}",
      "- ",
      "? ",
      ": ",
      "'",
      '"',
      "|\n",
      "\t",
      "!!str ",
      "\u0000",
      "%YAML 1.2\n",
    ),
    fc.string({ unit: "binary", maxLength: 8 }),
  );
  void fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.boolean(), (pieces, fenced) => {
      const text = fenced ? skillText(pieces.join("")) : pieces.join("");
      const read = readSkillText(text);
      if ("problem" in read) {
        expect(read.problem).not.toBe("");
        expect(read.fix).not.toBe("");
      } else expect(typeof read.body).toBe("string");
    }),
    { numRuns: Number(process.env["FC_RUNS"] ?? 2_000) },
  );
});

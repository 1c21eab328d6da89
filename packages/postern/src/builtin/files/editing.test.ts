import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { createRuntime } from "../../index.ts";
import { edited } from "./editing.ts";
import { fileTools } from "./files.ts";

const edit = (text: string, old_text: string, new_text: string, count?: number): string =>
  edited(text, { old_text, new_text, count });

describe("an edit keeps the file's line ends", () => {
  it.each([
    ["CRLF", "a\r\nb\r\nc\r\n", "a\nb", "A\nB", "A\r\nB\r\nc\r\n"],
    ["CRLF, with new lines", "a\r\nb\r\nc", "b", "b1\nb2\nb3", "a\r\nb1\r\nb2\r\nb3\r\nc"],
    ["CRLF, from its line end on", "a\r\nb", "\nb", "\nB", "a\r\nB"],
    ["CRLF, to its line end", "a\r\nb", "a\n", "A\n", "A\r\nb"],
    ["CRLF, sent with CRLF", "a\r\nb\r\n", "a\r\nb", "x\r\ny\r\nz", "x\r\ny\r\nz\r\n"],
    ["CRLF, lines taken away", "a\r\nb\r\nc", "a\nb\nc", "a\nc", "a\r\nc"],
    ["CRLF, an empty line", "a\r\n\r\nb", "a\n\nb", "a\nb", "a\r\nb"],
    ["LF, sent with CRLF", "a\nb\nc", "a\r\nb", "x\r\ny\r\nz", "x\ny\nz\nc"],
    ["mixed", "a\nb\r\nc\nd", "a\nb\nc", "A\nB\nC", "A\nB\r\nC\nd"],
    ["mixed, with new lines as the lines before", "a\nb\r\nc\nd\n", "c", "c1\nc2", "a\nb\r\nc1\r\nc2\nd\n"],
    ["lone CR only", "a\rb\rc", "a\nb", "A\nB\nB2", "A\rB\rB2\rc"],
    ["a lone CR in a CRLF file", "a\rb\r\nc\r\n", "a\nb", "A\nB\nB2", "A\rB\r\nB2\r\nc\r\n"],
    ["a lone CR as it is", "10%\r20%\ndone\n", "10%\r20%", "99%", "99%\ndone\n"],
    ["one line", "a", "a", "b\nc", "b\nc"],
    ["BOM", "\ufeffa\r\nb", "a\nb", "A\nB", "\ufeffA\r\nB"],
    ["BOM that was sent too", "\ufeffa\nb", "\ufeffa", "\ufeffA", "\ufeffA\nb"],
    ["BOM that was sent in the old text only", "\ufeffa\nb", "\ufeffa\n", "A\n", "\ufeffA\nb"],
  ])("%s", (_, text, before, after, made) => {
    expect(edit(text, before, after)).toBe(made);
  });

  it("in every place that is replaced, and in no other", () => {
    expect(edit("x\r\ny\nx\r\ny\rz", "x\ny", "X\nY", 2)).toBe("X\r\nY\nX\r\nY\rz");
  });

  it("matches the exact text if only that occurs `count` times", () => {
    expect(edit("a\nb;a\r\nb", "a\nb", "c", 1)).toBe("c;a\r\nb");
  });

  it.each(["\r", "\n", "\r\n", "x\ny", "\ufeff"])("rejects a text that is not there: %j", (before) => {
    expect(() => edit("\ufeffone line", before, "new")).toThrow();
  });

  it("never splits or joins a line end (property)", async () => {
    const parts = fc.array(fc.constantFrom("a", "b", "\r\n", "\n", "\r"), { maxLength: 12 }).map((all) => all.join(""));
    const wanted = fc.array(fc.constantFrom("a", "b", "\n"), { minLength: 1, maxLength: 3 }).map((all) => all.join(""));
    const plain = (text: string): string => text.replaceAll(/\r\n|\r/g, "\n");
    await fc.assert(
      fc.property(parts, wanted, (text, before) => {
        const count = plain(text).split(before).length - 1;
        fc.pre(count > 0);
        expect(edit(text, before, before, count)).toBe(text);
        expect(plain(edit(text, before, "new", count))).toBe(plain(text).replaceAll(before, "new"));
      }),
    );
  });
});

it("edit_file edits a CRLF file that was read with LF, and keeps its line ends", async () => {
  const folder = ownFolder();
  const path = join(folder, "notes.txt");
  writeFileSync(path, "\ufeffone\r\ntwo\r\nthree\r\n");
  const tools = await fileTools({ roots: { notes: { path: folder, writable: true } }, write: true });
  await using runtime = await createRuntime({ tools, autonomy: "A4" });
  const given = { path: "notes/notes.txt", old_text: "two\nthree", new_text: "2\n2.5\n3" };
  const principal = { tenant: "default", agent: "a" };
  expect(await runtime.invoke({ tool: "edit_file", arguments: given }, { principal })).toMatchObject({ status: "ok" });
  expect(readFileSync(path, "utf8")).toBe("\ufeffone\r\n2\r\n2.5\r\n3\r\n");
});

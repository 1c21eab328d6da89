import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operationStep, parsePatch, patched } from "./v4a.ts";

function updated(text: string, diff: string): string {
  const step = operationStep({ type: "update_file", path: "f", diff });
  return step.kind === "update" ? patched(text, step.hunks) : "";
}

describe("a patch keeps everything else", () => {
  it.each([
    ["LF", "a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n"],
    ["CRLF", "a\r\nb\r\nc\r\n", " a\n-b\n+B\n+B2\n c", "a\r\nB\r\nB2\r\nc\r\n"],
    ["CRLF in the patch too", "a\r\nb\r\n", " a\r\n-b\r\n+B\r\n", "a\r\nB\r\n"],
    ["no line end at the end", "a\nb", "-b\n+B\n+C", "a\nB\nC"],
    ["no line end at the end, CRLF", "a\r\nb", " b\n+c", "a\r\nb\r\nc"],
    ["a byte order mark", "\ufeffa\nb\n", "-a\n+A", "\ufeffA\nb\n"],
    ["blanks of context lines", "a  \n\tb\nc\n", " a\n-b\n+B\n c", "a  \nB\nc\n"],
    ["a line that differs at both ends, where one differs only at its end", "  a\na \n", "-a\n+b", "  a\nb\n"],
    ["all but the end", "x\ny\nx\n", "@@\n-x\n+X\n*** End of File", "x\ny\nX\n"],
    ["all but what follows an anchor", "f\nx\ng\nx\n", "@@ g\n-x\n+X", "f\nx\ng\nX\n"],
    ["all but what follows two anchors", "c\nf\nx\nc2\nf\nx\n", "@@ c2\n@@ f\n-x\n+X", "c\nf\nx\nc2\nf\nX\n"],
    ["two places in order", "x\ny\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", "1\ny\n2\n"],
    ["lines that are added below an anchor", "a\nb\n", "@@ a\n+n", "a\nn\nb\n"],
    ["lines that are added at the end", "a\n", "@@\n+n\n*** End of File", "a\nn\n"],
    ["an empty file", "", "+n", "n\n"],
    ["empty lines of context", "a\n\nb\n", " a\n\n-b\n+B", "a\n\nB\n"],
    ["line numbers of unified diffs unread", "a\nb\n", "@@ -1,2 +1,2 @@ f()\n a\n-b\n+B", "a\nB\n"],
    ["lines taken away", "a\nb\nc\n", " a\n-b\n c", "a\nc\n"],
  ])("%s", (_, text, diff, made) => {
    expect(updated(text, diff)).toBe(made);
  });
});

describe("a patch that cannot be applied says why", () => {
  it.each([
    ["a line that is another", "a\nb\nc\n", " a\n-x\n c", /hunk 1 .* line 2 is `b` and not `x`.*\n {5}1\ta\n {5}2\tb/],
    ["the second hunk", "a\nb\n", "@@\n-a\n+A\n@@\n-z\n+Z", /hunk 2 /],
    ["hunks in the wrong order", "a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A", /hunk 2 /],
    ["an anchor that is not there", "a\n", "@@ g\n-a\n+A", /there is no line `g`/],
    ["lines without a place", "a\n", "+n", /only adds lines and does not say where/],
    ["a line without a sign", "a\n", "@@\na", /the line `a` in its hunk 1/],
    ["no hunk", "a\n", "", /has no hunk/],
    ["an empty hunk", "a\n", "@@ a", /has nothing in its hunk 1/],
  ])("%s", (_, text, diff, why) => {
    expect(() => updated(text, diff)).toThrow(why);
  });

  it("refuses a patch that nearly fits in too many places", () => {
    const text = "a\n".repeat(20_000);
    expect(() => updated(text, `${" a\n".repeat(9_000)}-b`)).toThrow("in too many places");
  });
});

it("reads Codex's text with several files", () => {
  const text = [
    ...["*** Begin Patch", "*** Add File: n.txt", "+one", "+", "*** Update File: u.txt", "*** Move to: v.txt"],
    ...["@@ def f():", "-x", "+y", "*** Delete File: d.txt", "*** End Patch"],
  ];
  expect(parsePatch(`${text.join("\r\n")}\n`)).toEqual([
    { kind: "create", path: "n.txt", text: "one\n\n" },
    {
      ...{ kind: "update", path: "u.txt", to: "v.txt" },
      hunks: [
        {
          anchors: ["def f():"],
          isLast: false,
          lines: [
            { sign: "-", text: "x" },
            { sign: "+", text: "y" },
          ],
        },
      ],
    },
    { kind: "delete", path: "d.txt" },
  ]);
});

it.each([
  ["no begin", "*** Update File: a\n@@\n-a"],
  ["no end", "*** Begin Patch\n*** Delete File: a"],
  ["no file", "*** Begin Patch\n@@\n-a\n*** End Patch"],
  ["lines of a deleted file", "*** Begin Patch\n*** Delete File: a\n-a\n*** End Patch"],
  ["a new file without plus", "*** Begin Patch\n*** Add File: a\na\n*** End Patch"],
])("refuses Codex's text with %s", (_, text) => {
  expect(() => parsePatch(text)).toThrow(/^(?:must|names|has|creates) /);
});

it("changes any text into any other by a patch of all lines (property)", async () => {
  const lines = fc.array(fc.constantFrom("", "a", " b", "+c", "-d", "@@ e", "*** f"), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.property(lines, lines, fc.constantFrom("\n", "\r\n"), (old, now, end) => {
      const diff = ["@@", ...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)].join("\n");
      const text = (all: readonly string[]): string => all.map((line) => line + end).join("");
      expect(updated(text(old), diff)).toBe(text(now));
    }),
  );
});

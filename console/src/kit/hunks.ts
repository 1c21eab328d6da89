import { structuredPatch } from "diff";

/** A long text in which everything changed is not compared line by line. */
const mostEdits = 2_000;

/** The lines that changed, with a few around them. @param first the number of the first line */
export function hunks(before: string, after: string, first = 1): string {
  const [from, to] = [`${before.trimEnd()}\n`, `${after.trimEnd()}\n`];
  if (from === to) return "";
  const patch = structuredPatch("", "", from, to, "", "", { context: 3, maxEditLength: mostEdits });
  if (patch === undefined) return [...marked(from, "-"), ...marked(to, "+")].join("\n");
  return patch.hunks
    .flatMap(({ newStart, lines }) => [`@@ line ${Math.max(first, newStart + first - 1)} @@`, ...lines])
    .join("\n");
}

function marked(text: string, sign: string): readonly string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => sign + line);
}

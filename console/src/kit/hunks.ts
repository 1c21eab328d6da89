const context = 3;

/**
 * What is other, with a few lines around it; a jump says at which line of the new text it goes on.
 * @param first the number of the first line
 */
export function hunks(before: string, after: string, first = 1): string {
  const rows = unified(before.trimEnd(), after.trimEnd()).split("\n");
  const isNear = (at: number): boolean =>
    rows.slice(Math.max(0, at - context), at + context + 1).some((row) => !row.startsWith(" "));
  const shown: string[] = [];
  let line = first - 1;
  let isOpen = false;
  for (const [at, row] of rows.entries()) {
    if (!row.startsWith("-")) line += 1;
    const near = isNear(at);
    if (near && !isOpen) shown.push(`@@ line ${Math.max(first, line)} @@`);
    if (near) shown.push(row);
    isOpen = near;
  }
  return shown.join("\n");
}

/** Lines of two texts as a unified diff, whole. What is the same at both ends is not weighed, so that a small edit of a long text is found. */
function unified(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  while (head < shorter && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const same = (line: string): string => ` ${line}`;
  return [
    ...a.slice(0, head).map(same),
    ...between(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(same),
  ].join("\n");
}

/** Quadratic, so only for what a person can read. */
function between(a: readonly string[], b: readonly string[]): readonly string[] {
  if (a.length * b.length > 250_000) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  const common = longestCommon(a, b);
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(` ${a[i]}`);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && at(common, i + 1, j) >= at(common, i, j + 1))) {
      out.push(`-${a[i]}`);
      i += 1;
    } else {
      out.push(`+${b[j]}`);
      j += 1;
    }
  }
  return out;
}

function longestCommon(a: readonly string[], b: readonly string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = table[i];
      if (row !== undefined)
        row[j] = a[i] === b[j] ? at(table, i + 1, j + 1) + 1 : Math.max(at(table, i + 1, j), at(table, i, j + 1));
    }
  }
  return table;
}

function at(table: readonly (readonly number[])[], i: number, j: number): number {
  return table[i]?.[j] ?? 0;
}

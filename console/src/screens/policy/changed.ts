import { unified } from "../../kit/diff.tsx";

const context = 3;

/** What is other, with a few lines around it; a jump says at which line of the new text it goes on. */
export function changed(before: string, after: string): string {
  const rows = unified(before.trimEnd(), after.trimEnd()).split("\n");
  const isNear = (at: number): boolean =>
    rows.slice(Math.max(0, at - context), at + context + 1).some((row) => !row.startsWith(" "));
  const shown: string[] = [];
  let line = 0;
  let isOpen = false;
  for (const [at, row] of rows.entries()) {
    if (!row.startsWith("-")) line += 1;
    const near = isNear(at);
    if (near && !isOpen) shown.push(`@@ line ${Math.max(1, line)} @@`);
    if (near) shown.push(row);
    isOpen = near;
  }
  return shown.join("\n");
}

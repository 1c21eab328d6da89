import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

const most = 2_000;

/** A unified diff, line by line; what was added or taken away is said by sign and by colour. */
export function Diff({ text }: { readonly text: string }): ReactNode {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre className="mono overflow-x-auto rounded-md border border-line bg-sunken py-1 leading-relaxed">
      {lines.slice(0, most).map((line, at) => (
        <div key={at} className={classNames("px-3 whitespace-pre-wrap", lookOf(line))}>
          {line === "" ? " " : <Text>{line}</Text>}
        </div>
      ))}
      {lines.length > most && <div className="px-3 text-ink-3">{lines.length - most} more lines</div>}
    </pre>
  );
}

function lookOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "text-ink-3";
  if (line.startsWith("@@")) return "text-accent";
  if (line.startsWith("+")) return "bg-safe-tint text-safe";
  if (line.startsWith("-")) return "bg-critical-tint text-critical";
  return "text-ink-2";
}

/** Lines of two texts as a unified diff: what an edit changed. Quadratic, so only for what a person can read. */
export function unified(before: string, after: string): string {
  const [a, b] = [before.split("\n"), after.split("\n")];
  if (a.length * b.length > 250_000) return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)].join("\n");
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
  return out.join("\n");
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

import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

/** Characters of a line: the server keeps no longer preview. */
const mostOfLine = 65_536;

/** A unified diff. */
export function Diff({ text }: { readonly text: string }): ReactNode {
  const [lines, more] = useFirst(text.replace(/\n$/, "").split("\n"), { noun: "lines", first: 2_000, step: 10_000 });
  return (
    <div className="grid gap-2">
      <pre className="mono overflow-x-auto rounded-md border border-line bg-sunken py-1 leading-relaxed">
        {lines.map((line, at) => (
          <div key={at} className={classNames("px-3 whitespace-pre-wrap", lookOf(line))}>
            {line === "" ? " " : <Text limit={mostOfLine}>{line}</Text>}
          </div>
        ))}
      </pre>
      {more}
    </div>
  );
}

function lookOf(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "text-ink-3";
  if (line.startsWith("@@")) return "text-accent";
  if (line.startsWith("+")) return "bg-safe-tint text-safe";
  if (line.startsWith("-")) return "bg-critical-tint text-critical";
  return "text-ink-2";
}

type FirstOptions = Readonly<{ noun: string; first: number; step?: number }>;

/** The first of many items, and a line with a button that shows more. The line is undefined when all are shown. */
export function useFirst<Item>(
  items: readonly Item[],
  { noun, first, step = items.length }: FirstOptions,
): readonly [shown: readonly Item[], more: ReactNode] {
  const [count, setCount] = useState(first);
  const rest = items.length - count;
  const more = rest > 0 && (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-medium">
      {count.toLocaleString("en")} of {items.length.toLocaleString("en")} {noun} are shown.
      <Button size="small" onClick={() => setCount(count + step)}>
        Show {rest > step ? `${step.toLocaleString("en")} more` : `the other ${rest.toLocaleString("en")}`}
      </Button>
    </p>
  );
  return [items.slice(0, count), more || undefined];
}

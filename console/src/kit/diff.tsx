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

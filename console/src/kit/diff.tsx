import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

/** Lines shown at first, and more with each press. */
const most = 2_000;
const more = 10_000;
/** Characters of a line: the server keeps no longer preview. */
const mostOfLine = 65_536;

/** A unified diff. */
export function Diff({ text }: { readonly text: string }): ReactNode {
  const [shown, setShown] = useState(most);
  const lines = text.replace(/\n$/, "").split("\n");
  const rest = lines.length - shown;
  return (
    <div className="grid gap-2">
      <pre className="mono overflow-x-auto rounded-md border border-line bg-sunken py-1 leading-relaxed">
        {lines.slice(0, shown).map((line, at) => (
          <div key={at} className={classNames("px-3 whitespace-pre-wrap", lookOf(line))}>
            {line === "" ? " " : <Text limit={mostOfLine}>{line}</Text>}
          </div>
        ))}
      </pre>
      {rest > 0 && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-medium">
          {shown.toLocaleString("en")} of {lines.length.toLocaleString("en")} lines are shown.
          <Button size="small" onClick={() => setShown(shown + more)}>
            Show {rest > more ? `${more.toLocaleString("en")} more` : `the other ${rest.toLocaleString("en")}`}
          </Button>
        </p>
      )}
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

/**
 * Shows every string that a tool, a server, a model or a caller made.
 *
 * Invariant: it makes text nodes and marks, never markup. No character hides or reorders what is beside it: controls,
 * ANSI escapes, bidirectional and invisible characters are shown by name, look-alike letters with their code.
 */

import { partsOf, type TextPart } from "@postern/core";
import { Fragment, type ReactNode } from "react";
import { classNames } from "./class-names.ts";

const named = new Map<string, string>([
  ["\u0000", "NUL"],
  ["\u0007", "BEL"],
  ["\u0008", "BS"],
  ["\t", "TAB"],
  ["\n", "⏎"],
  ["\r", "CR"],
  ["\u001b", "ESC"],
  ["\u007f", "DEL"],
  ["\u00ad", "SHY"],
  ["\u061c", "ALM"],
  ["\u200b", "ZWSP"],
  ["\u200c", "ZWNJ"],
  ["\u200d", "ZWJ"],
  ["\u200e", "LRM"],
  ["\u200f", "RLM"],
  ["\u2028", "LS"],
  ["\u2029", "PS"],
  ["\u202a", "LRE"],
  ["\u202b", "RLE"],
  ["\u202c", "PDF"],
  ["\u202d", "LRO"],
  ["\u202e", "RLO"],
  ["\u2060", "WJ"],
  ["\u2066", "LRI"],
  ["\u2067", "RLI"],
  ["\u2068", "FSI"],
  ["\u2069", "PDI"],
  ["\ufeff", "BOM"],
]);

function code(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function Mark({ part }: { readonly part: TextPart }): ReactNode {
  const point = code(part.text);
  const isSeen = part.is === "look-alike";
  return (
    <span className="mx-px rounded-sm bg-medium-tint px-0.5 text-medium" title={point}>
      {isSeen && part.text}
      <span className="text-[0.8em]">{named.get(part.text) ?? point}</span>
    </span>
  );
}

export interface TextProps {
  readonly children: string | undefined;
  /** Keeps line breaks and tabs. */
  readonly lines?: boolean | undefined;
  /** Longer text is cut, and says by how much. Default: 20,000 characters. */
  readonly limit?: number | undefined;
  readonly className?: string | undefined;
}

/** A longer text breaks anywhere: the browser needs seconds to find better places in one long word. */
const long = 20_000;

export function Text({ children = "", lines = false, limit = long, className }: TextProps): ReactNode {
  const shown = children.length > limit ? children.slice(0, limit) : children;
  return (
    <bdi
      className={classNames(
        shown.length > long ? "break-all" : "wrap-anywhere",
        // Each line has the direction of its own first letter.
        lines ? "whitespace-pre-wrap [unicode-bidi:plaintext]" : "[white-space-collapse:preserve]",
        className,
      )}
    >
      {marked(lines ? shown.replaceAll("\r\n", "\n") : shown, lines)}
      {children.length > limit && (
        <span className="text-ink-3"> … {(children.length - limit).toLocaleString("en")} more characters</span>
      )}
    </bdi>
  );
}

/** Beside a field, which cannot mark invisible characters: the same text with marks. */
export function Unseen({ text }: { readonly text: string }): ReactNode {
  if (partsOf(text).every(({ is, text: part }) => is === "plain" || /[\t\n\r]/.test(part))) return null;
  return (
    <div className="rounded-md bg-medium-tint px-3 py-2">
      <p className="text-medium">
        The field holds characters that cannot be seen in it, or look like others. With all of them named:
      </p>
      <Text lines limit={4_000} className="mono">
        {text}
      </Text>
    </div>
  );
}

function marked(text: string, lines: boolean): ReactNode {
  const parts = partsOf(text);
  if (parts.every(({ is }) => is === "plain")) return text;
  return parts.map((part, at) => {
    const isPlain = part.is === "plain" || (lines && (part.text === "\n" || part.text === "\t"));
    return isPlain ? <Fragment key={at}>{part.text}</Fragment> : <Mark key={at} part={part} />;
  });
}

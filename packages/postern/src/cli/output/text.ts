import { codeOf, duration, withHiddenShown } from "@postern/core";
import type { Paint } from "./terminal.ts";

/** One line: every control, bidirectional, invisible or look-alike character is shown by its code. */
export function visible(text: string): string {
  return withHiddenShown(text, (part) => signs.get(part.text) ?? codeOf(part));
}

const signs: ReadonlyMap<string, string> = new Map([
  ["\u001b", "␛"],
  ["\n", "⏎"],
  ["\t", "⇥"],
]);

/** As `visible`, but line breaks stay; tabs become spaces. */
export function visibleLines(text: string): readonly string[] {
  return text.replaceAll("\t", "    ").replaceAll("\r\n", "\n").split("\n").map(visible);
}

const wide =
  /^(?:\p{Emoji_Presentation}|[\u{1100}-\u{115f}\u{2e80}-\u{303e}\u{3041}-\u{33ff}\u{3400}-\u{4dbf}\u{4e00}-\u{9fff}\u{a000}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}])/u;
let made: Intl.Segmenter | undefined;
/** Made when a text is divided for the first time: most commands divide none. */
function graphemesOf(text: string): Intl.Segments {
  made ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return made.segment(text);
}
const ascii = /^[ -~]*$/;

/** Columns on a screen. The text holds no colour codes: it is measured before it is painted. */
export function widthOf(text: string): number {
  if (ascii.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemesOf(text))
    columns += wide.test(segment) || segment.includes("\u{fe0f}") ? 2 : /^\p{M}/u.test(segment) ? 0 : 1;
  return columns;
}

/** Cuts to so many columns; an ellipsis shows the cut. */
export function fit(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (ascii.test(text)) return `${text.slice(0, Math.max(0, columns - 1))}…`;
  let kept = "";
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    const next = widthOf(segment);
    if (used + next > columns - 1) break;
    kept += segment;
    used += next;
  }
  return `${kept}…`;
}

const continued = "↪ ";

/** Breaks into lines of so many columns. Each further line is marked, so that padding cannot make it look like a new line. */
export function wrap(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { segment } of widthOf(text) <= columns ? [{ segment: text }] : graphemesOf(text)) {
    const next = widthOf(segment);
    if (line !== "" && used + next > columns) {
      lines.push(line);
      line = continued;
      used = widthOf(continued);
    }
    line += segment;
    used += next;
  }
  return [...lines, line];
}

export interface Cell {
  readonly text: string;
  /** Colours the padded text, so that columns stay aligned. */
  readonly paint?: (text: string) => string;
}

/** What text is laid out for. */
export interface Sheet {
  readonly terminal: { readonly columns: number };
  readonly paint: Paint;
}

/** If the last column has less room than this, it goes below its row. */
const leastForLast = 20;
const below = 4;

/**
 * Aligned columns under their headings. If the screen is too narrow for a row, its last columns go on a line below, so
 * that no name or id is cut. Only the last column is cut, at the edge of the screen.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
  { terminal: { columns }, paint: painted }: Sheet,
): string {
  const cells = rows.map((row) =>
    row.map(
      (cell): Cell => (typeof cell === "string" ? { text: visible(cell) } : { ...cell, text: visible(cell.text) }),
    ),
  );
  const widths = headings.map((heading, i) =>
    Math.max(widthOf(heading), ...cells.map((row) => widthOf(row[i]?.text ?? ""))),
  );
  const lines = linesFor(widths, columns);
  const last = widths.length - 1;
  const lineOf = (row: readonly Cell[], on: readonly number[], isBelow: boolean): string => {
    let text = isBelow ? " ".repeat(below) : "";
    let used = text.length;
    for (const i of on) {
      const { text: whole, paint = (same: string) => same } = row[i] ?? { text: "" };
      const cut = i === last ? fit(whole, Math.max(12, columns - used)) : whole;
      text += paint(cut) + (i === on.at(-1) ? "" : " ".repeat((widths[i] ?? 0) - widthOf(cut) + 2));
      used += (widths[i] ?? 0) + 2;
    }
    return text.trimEnd();
  };
  const linesOf = (row: readonly Cell[]): readonly string[] =>
    lines.map((on, n) => lineOf(row, on, n > 0)).filter((text, n) => n === 0 || text !== "");
  return [...linesOf(headings.map((text) => ({ text }))).map((text) => painted("dim", text)), ...cells.flatMap(linesOf)]
    .map((text) => `${text}\n`)
    .join("");
}

/** The columns of each line of a row. */
function linesFor(widths: readonly number[], columns: number): readonly (readonly number[])[] {
  const lines: number[][] = [];
  let line: number[] = [];
  let used = 0;
  widths.forEach((width, i) => {
    const needed = i === widths.length - 1 ? Math.min(width, leastForLast) : width;
    if (line.length === 0 || used + needed > columns) {
      line = [];
      used = lines.push(line) > 1 ? below : 0;
    }
    line.push(i);
    used += width + 2;
  });
  return lines;
}

/** Who did something, and with which credential if it was recorded. */
export function actorText(by: string, via: string | undefined): string {
  return via === undefined ? by : `${by} (${via})`;
}

/** An agent, and for whom it acts. */
export function whose({ agent, user }: { readonly agent: string; readonly user?: string | undefined }): string {
  return user === undefined ? agent : `${agent} for ${user}`;
}

/** A line of a description: a dim label and its text. Without a text, no line. */
export function labelled(paint: Paint, columns: number): (label: string, text?: string) => string {
  return (label, text = "") => (text === "" ? "" : `  ${paint("dim", label.padEnd(columns))} ${visible(text)}\n`);
}

/** `13:04:05Z`. Every time that is shown is UTC, as in the log. */
export function timeOfDay(iso: string): string {
  return `${iso.slice(11, 19)}Z`;
}

/** `2026-11-20T13:04Z`. */
export function minuteOf(iso: string): string {
  return `${iso.slice(0, 16)}Z`;
}

/** `3 min ago`, `in 12 min`, `now`. Exact times are for --json. */
export function relative(at: number, now: number): string {
  const seconds = Math.round(Math.abs(at - now) / 1000);
  if (seconds < 2) return "now";
  const text = duration(seconds * 1000);
  return at > now ? `in ${text}` : `${text} ago`;
}

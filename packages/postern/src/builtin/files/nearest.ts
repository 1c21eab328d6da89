/** Where a file comes nearest to lines that it does not hold, for the message of an edit that matches nothing. */

import { shortened } from "@postern/core";

/** Comparisons of lines, so that a large file costs no more time than a small one. */
const mostComparisons = 2_000_000;
const shownBefore = 4;
const mostShown = 10;
const mostLineCharacters = 121;

/** The lines of the file at that place, and the first one that differs. `from`: where to look if no line is alike. */
export function nearestLines(lines: readonly string[], wanted: readonly string[], from = 0): string {
  const place = alikeAt(lines, wanted) ?? { at: mostWordsAt(lines, wanted) ?? from, same: 0 };
  const odd = place.at + place.same;
  const differs =
    place.same > 0 && odd < lines.length
      ? `; line ${odd + 1} is \`${brief(lines[odd] ?? "")}\` and not \`${brief(wanted[place.same] ?? "")}\``
      : "";
  const first = Math.max(0, odd - shownBefore);
  const shown = lines.slice(first, first + mostShown).map(brief);
  return `${differs}. The file holds:\n${shown.length === 0 ? "(nothing)" : numbered(shown, first + 1)}`;
}

/** The longest run of wanted lines, without blanks at both ends. Returns undefined if the first one is nowhere. */
function alikeAt(
  lines: readonly string[],
  wanted: readonly string[],
): { readonly at: number; readonly same: number } | undefined {
  const [file, looked] = [lines, wanted].map((some) => some.map((line) => line.trim()));
  if (file === undefined || looked === undefined) return undefined;
  let best = { at: 0, same: 0 };
  let left = mostComparisons;
  for (const at of file.keys()) {
    let same = 0;
    while (same < looked.length && at + same < file.length && file[at + same] === looked[same]) same += 1;
    if (same > best.same) best = { at, same };
    left -= same + 1;
    if (left < 0) break;
  }
  return best.same === 0 ? undefined : best;
}

/** The line that shares most words with a wanted one. Returns undefined if none shares a word. */
function mostWordsAt(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const looked = new Set(wanted.flatMap(wordsIn));
  let best = { at: -1, shared: 0 };
  for (const [at, line] of lines.slice(0, mostComparisons).entries()) {
    const shared = new Set(wordsIn(line).filter((word) => looked.has(word))).size;
    if (shared > best.shared) best = { at, shared };
  }
  return best.at < 0 ? undefined : best.at;
}

function wordsIn(line: string): readonly string[] {
  return line.slice(0, 1_000).match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** How models see a file: the number, a tab, the line. */
export function numbered(lines: readonly string[], first: number): string {
  return lines.map((line, i) => `${String(first + i).padStart(6)}\t${line}`).join("\n");
}

function brief(line: string): string {
  return shortened(line, mostLineCharacters);
}

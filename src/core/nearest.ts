/**
 * The known word nearest to a mistyped one. Returns undefined when none is near enough or two are equally near.
 *
 * @param mostEdits by default one for every three letters, and one at least
 */
export function nearest(
  word: string,
  known: readonly string[],
  mostEdits: number = Math.max(1, Math.floor(word.length / 3)),
): string | undefined {
  let least = mostEdits;
  let best: readonly string[] = [];
  for (const name of new Set(known)) {
    if (Math.abs(word.length - name.length) > least) continue; // needs at least this many edits
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance > least) continue;
    best = distance < least ? [name] : [...best, name];
    least = distance;
  }
  return best.length === 1 ? best[0] : undefined;
}

/** Levenshtein distance, where a swap of neighbours is one edit. Words longer than 64 characters are not compared. */
function editDistance(one: string, other: string): number {
  if (one.length > 64 || other.length > 64) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1];
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[other.length] ?? 0;
}

const mostWords = 24;
/** A word this long also finds longer ones that begin with it. */
const prefixLength = 4;

/** The different words of a query in lower case, in their order. Everything else is punctuation. */
export function wordsOf(query: string): readonly string[] {
  const words = new Set<string>();
  for (const [word] of query.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    words.add(word);
    if (words.size === mostWords) break;
  }
  return [...words];
}

/**
 * An expression of SQLite's full text search for any of the words. Each is quoted, so no query is read as syntax. Returns
 * undefined if the query has no words.
 */
export function matchExpression(query: string): string | undefined {
  const words = wordsOf(query);
  if (words.length === 0) return undefined;
  return words.map((word) => `"${word}"${[...word].length >= prefixLength ? "*" : ""}`).join(" OR ");
}

/** Scripts that write words without blanks between them. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const mostPieces = 64;

/**
 * Parts of a query that a memory in other words may hold: each two neighbours of a text without blanks, and the beginning
 * of each longer word (`deploy` has that of `deploys`, `prefers` that of `preference`).
 */
export function piecesOf(query: string): readonly string[] {
  const pieces = new Set<string>();
  for (const word of wordsOf(query)) {
    for (const [run] of word.matchAll(unspaced)) {
      const characters = [...run];
      for (let at = 0; at + 1 < characters.length; at += 1) pieces.add(characters.slice(at, at + 2).join(""));
    }
    const letters = [...word.replace(unspaced, "")];
    if (letters.length > prefixLength)
      pieces.add(letters.slice(0, Math.max(prefixLength, Math.floor(letters.length * 0.6))).join(""));
  }
  return [...pieces].slice(0, mostPieces);
}

/** How much of a query a text holds: the whole query, else its pieces by their lengths. 0: nothing. */
function looseScore(text: string, query: string, pieces: readonly string[]): number {
  const lower = text.toLowerCase();
  const found = pieces.reduce((sum, piece) => sum + (lower.includes(piece) ? piece.length : 0), 0);
  return lower.includes(query.toLowerCase()) ? found + query.length : found;
}

/** The memories that hold something of the query, the best first. Those that hold less than half of the best are left out. */
export function loosely<Item>(items: Iterable<Item>, textOf: (item: Item) => string, query: string): readonly Item[] {
  const pieces = piecesOf(query);
  const scored = [...items].map((item) => ({ item, score: looseScore(textOf(item), query, pieces) }));
  const best = scored.reduce((most, { score }) => Math.max(most, score), 0);
  return scored
    .filter(({ score }) => score > 0 && score * 2 >= best)
    .sort((one, other) => other.score - one.score)
    .map(({ item }) => item);
}

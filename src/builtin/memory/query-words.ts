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

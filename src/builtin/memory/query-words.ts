const mostWords = 24;
/** A word this long also finds longer ones that begin with it. */
const prefixLength = 4;

/** The different words of a query, in lower case and in their order. Everything else in it is only punctuation. */
export function wordsOf(query: string): readonly string[] {
  const words = new Set<string>();
  for (const [word] of query.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    words.add(word);
    if (words.size === mostWords) break;
  }
  return [...words];
}

/**
 * The words as an expression of SQLite's full text search: any of them, quoted each, so that nothing in a query is ever
 * read as its syntax. Undefined: the query has no words.
 */
export function matchExpression(query: string): string | undefined {
  const words = wordsOf(query);
  if (words.length === 0) return undefined;
  return words.map((word) => `"${word}"${[...word].length >= prefixLength ? "*" : ""}`).join(" OR ");
}

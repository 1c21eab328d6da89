import type { Work } from "./session.ts";

/** Some rows of a list, and the place from which it goes on where there are more. */
export interface Page<Row, Place> {
  readonly rows: readonly Row[];
  readonly next: Place | undefined;
}

/** What a route gives at once. */
const largestPage = 1_000;

/** As many rows as were asked for, over as many pages as that takes: a page may be short although there are more. */
export async function upTo<Row, Place>(
  limit: number,
  pageOf: (most: number, from: Place | undefined) => Promise<Page<Row, Place>>,
): Promise<Page<Row, Place>> {
  const rows: Row[] = [];
  let next: Place | undefined;
  do {
    const page = await pageOf(Math.min(largestPage, limit - rows.length), next);
    rows.push(...page.rows);
    next = page.next;
  } while (next !== undefined && rows.length < limit);
  return { rows, next };
}

/** Beside the table: what is read by a program has the place itself. */
export function tellOfMore({ json, terminal }: Pick<Work, "json" | "terminal">, isMore: boolean): void {
  if (isMore && !json) terminal.aside("There are more; `--limit` shows them.\n");
}

import { reveal } from "./reveal.ts";

/** A row of a diff for a person: `+ …` was added, `- …` was removed, and two blanks begin an unchanged row. */
export type DiffRow = string;

/** Above this many pairs of rows no common part is searched: all old rows count as removed, and all new rows as added. */
const mostPairs = 250_000;
const mostRows = 400;
/** How many unchanged rows are shown around a change. */
const context = 2;

/** Compares two texts, with one line or sentence a row. */
export function textDiff(before: string, after: string): readonly DiffRow[] {
  const [old, fresh] = [rowsOf(before), rowsOf(after)];
  const rows =
    old.length * fresh.length > mostPairs ? [...old.map(gone), ...fresh.map(added)] : near(compared(old, fresh));
  const left = rows.length - mostRows;
  return left > 0 ? [...rows.slice(0, mostRows), `  … and ${left} more rows`] : rows;
}

/** A description is often one long line, and a person compares sentences. */
function rowsOf(text: string): readonly string[] {
  if (text === "") return [];
  return text.split("\n").flatMap((line) => line.split(/(?<=[.!?:;]) +(?=\S)/));
}

function compared(old: readonly string[], fresh: readonly string[]): readonly DiffRow[] {
  const common = commonLengths(old, fresh);
  const rows: DiffRow[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      rows.push(`  ${reveal(old[i] ?? "")}`);
      i += 1;
      j += 1;
    } else if (i < old.length && (common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) {
      rows.push(gone(old[i] ?? ""));
      i += 1;
    } else {
      rows.push(added(fresh[j] ?? ""));
      j += 1;
    }
  }
  return rows;
}

/** How many rows the parts from `i` and from `j` have in common. */
function commonLengths(old: readonly string[], fresh: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const row = table[i] ?? [];
      const below = table[i + 1] ?? [];
      row[j] = old[i] === fresh[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return table;
}

/** Leaves out unchanged rows that are far from any change. */
function near(rows: readonly DiffRow[]): readonly DiffRow[] {
  const changes = rows.flatMap((row, i) => (row.startsWith("  ") ? [] : [i]));
  const kept = new Set(changes.flatMap((i) => Array.from({ length: 2 * context + 1 }, (_, k) => i - context + k)));
  return rows.flatMap((row, i) => (kept.has(i) ? [row] : kept.has(i - 1) ? ["  …"] : []));
}

function gone(row: string): DiffRow {
  return `- ${reveal(row)}`;
}

function added(row: string): DiffRow {
  return `+ ${reveal(row)}`;
}

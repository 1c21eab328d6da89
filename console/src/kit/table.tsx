import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: "left" | "right";
  /** Left out on a phone. */
  readonly wide?: boolean;
}

type TableProps<Row> = Readonly<{
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}>;

/** It scrolls sideways within itself. For thousands of rows there is `VirtualList`. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>): ReactNode {
  const looks = ({ align, wide }: Column<Row>): string =>
    classNames(
      "px-2 py-2 first:pl-4 last:pr-4 [&_bdi]:wrap-break-word", // a narrow table is scrolled before a name is broken
      align === "right" && "text-right tabular whitespace-nowrap",
      wide && "max-md:hidden",
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="overflow-x-auto" aria-label={label} tabIndex={0}>
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line text-ink-3">
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classNames(looks(column), "font-medium whitespace-nowrap")}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className="border-b border-line align-top last:border-0">
              {columns.map((column) => (
                <td key={column.name} className={looks(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

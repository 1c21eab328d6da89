import { Fragment, type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

export interface Column<Row> {
  readonly name: string;
  /** If two columns may have one name. */
  readonly id?: string;
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
  /** Over the whole width, under its row; undefined or false: nothing. */
  detail?: (row: Row) => ReactNode;
}>;

/** It scrolls sideways within itself. For thousands of rows there is `VirtualList`. */
export function Table<Row>({ label, columns, rows, keyOf, detail }: TableProps<Row>): ReactNode {
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
              <th
                key={column.id ?? column.name}
                scope="col"
                className={classNames(looks(column), "font-medium whitespace-nowrap")}
              >
                <Text>{column.name}</Text>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const more = detail?.(row) ?? false;
            return (
              <Fragment key={keyOf(row)}>
                <tr className="border-b border-line align-top last:border-0">
                  {columns.map((column) => (
                    <td key={column.id ?? column.name} className={looks(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
                {more !== false && (
                  <tr className="border-b border-line last:border-0">
                    <td colSpan={columns.length} className="px-4 pb-3">
                      <div className="sticky left-4 max-w-[calc(100vw-4rem)]">{more}</div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

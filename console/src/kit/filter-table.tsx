import type { LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Pages } from "../api/queries.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { number } from "./format.ts";
import { RowLink } from "./links.tsx";
import { NotYet, Skeleton } from "./states.tsx";
import type { Column } from "./table.tsx";
import { VirtualList, type VirtualListProps } from "./virtual-list.tsx";

type Read<Row> = Pick<Pages<unknown, Row>, "rows" | "error" | "again"> &
  Partial<Pick<Pages<unknown, Row>, "more" | "hasMore" | "isReading">>;

interface FilterTableProps<Row> extends Pick<VirtualListProps<Row>, "label" | "keyOf" | "estimate" | "isHead"> {
  readonly pages: Read<Row>;
  /** Without it, the row is no link. */
  readonly link: (row: Row) => LinkProps | undefined;
  /** The content of a row, or its columns and the class that places them where the table is wide. */
  readonly row:
    | ((row: Row, isChosen: boolean) => ReactNode)
    | { readonly columns: readonly Column<Row>[]; readonly layout: string };
  /** The key of the row that is open. */
  readonly chosen: string | undefined;
  /** How many there are, where it is known. */
  readonly total?: number | undefined;
  /** Shown when there is no row. */
  readonly nothing: ReactNode;
}

/** The rows that the filters over it leave, each a link: as they were read, and how many of all these are. */
export function FilterTable<Row>(props: FilterTableProps<Row>): ReactNode {
  const { pages, link, row, chosen, total, nothing, ...list } = props;
  const { rows, error, again, more, hasMore = false, isReading = false } = pages;
  if (rows === undefined || rows.length === 0)
    return (
      <div className="min-w-0 flex-1">
        {rows === undefined && <NotYet error={error} again={again} rows={8} />}
        {rows !== undefined && (hasMore ? <Skeleton rows={8} /> : nothing)}
      </div>
    );
  const { keyOf, isHead } = list;
  const shown = isHead === undefined ? rows.length : rows.filter((one) => !isHead(one)).length;
  const content = (one: Row): ReactNode =>
    typeof row === "function" ? row(one, keyOf(one) === chosen) : <Cells {...row} of={one} />;
  return (
    <div className="@container flex min-h-0 min-w-0 flex-1 flex-col">
      {typeof row === "object" && <Heads {...row} />}
      <div className="min-h-0 flex-1">
        <VirtualList
          {...list}
          rows={rows}
          selected={chosen === undefined ? undefined : rows.findIndex((one) => keyOf(one) === chosen)}
          onEnd={more}
          row={(one) => {
            const to = link(one);
            if (to === undefined) return content(one);
            return (
              <RowLink {...to} isChosen={keyOf(one) === chosen}>
                {content(one)}
              </RowLink>
            );
          }}
        />
      </div>
      {(hasMore || shown < (total ?? 0)) && (
        <p className="tabular flex min-h-9 shrink-0 items-center justify-between gap-3 border-t border-line px-4 py-1 text-ink-3">
          {number(shown)} {total !== undefined && `of ${number(total)}`} shown
          {hasMore && (
            <Button size="small" busy={isReading} onClick={more}>
              Load more
            </Button>
          )}
        </p>
      )}
    </div>
  );
}

type ColumnsProps<Row> = Readonly<{ columns: readonly Column<Row>[]; layout: string }>;

const look = "@5xl:grid @5xl:items-baseline @5xl:gap-x-4";

function Heads<Row>({ columns, layout }: ColumnsProps<Row>): ReactNode {
  return (
    <div aria-hidden="true" className={classNames("hidden border-b border-line px-4 py-1.5 text-ink-3", look, layout)}>
      {columns.map(({ name, align }) => (
        <span key={name} className={align === "right" ? "text-right" : undefined}>
          {name}
        </span>
      ))}
    </div>
  );
}

/** Where the table is narrow, one after the other. */
function Cells<Row>({ columns, layout, of }: ColumnsProps<Row> & { readonly of: Row }): ReactNode {
  return (
    <span className={classNames("flex min-w-0 flex-wrap items-baseline gap-x-3 gap-y-0.5", look, layout)}>
      {columns.map(({ name, align, wide, cell }) => (
        <span
          key={name}
          className={classNames(
            "min-w-0 truncate",
            align === "right" && "tabular @5xl:text-right",
            wide && "@max-5xl:hidden",
          )}
        >
          {cell(of)}
        </span>
      ))}
    </span>
  );
}

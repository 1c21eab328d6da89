import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** A surface. Without a title it is only the surface. */
export function Card({
  title,
  actions,
  children,
  className,
}: {
  readonly title?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string | undefined;
}): ReactNode {
  return (
    <section className={classNames("rounded-lg border border-line bg-surface shadow-raised", className)}>
      {title !== undefined && (
        <header className="flex min-h-11 items-center justify-between gap-3 border-b border-line px-4 py-2">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** One part of a card: what it is, then itself. */
export function Part({
  label,
  aside,
  children,
}: {
  readonly label: ReactNode;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div className="grid min-w-0 content-start gap-1.5">
      <div className="flex min-h-5 items-center justify-between gap-2">
        <h3 className="label">{label}</h3>
        {aside}
      </div>
      {children}
    </div>
  );
}

/** Names and values, aligned. */
export function Facts({
  rows,
}: {
  readonly rows: readonly (readonly [name: string, value: ReactNode] | undefined)[];
}): ReactNode {
  return (
    <dl className="grid grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 sm:grid-cols-[minmax(7rem,auto)_minmax(0,1fr)]">
      {rows.map(
        (row) =>
          row !== undefined && (
            <div key={row[0]} className="contents">
              <dt className="text-ink-3">{row[0]}</dt>
              <dd className="min-w-0">{row[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

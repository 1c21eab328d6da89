import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

type CardProps = Readonly<{
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string | undefined;
}>;

export function Card({ title, actions, children, className }: CardProps): ReactNode {
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

type PartProps = Readonly<{ label: ReactNode; aside?: ReactNode; children: ReactNode }>;

export function Part({ label, aside, children }: PartProps): ReactNode {
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

type FactsProps = Readonly<{
  /** By name; what is undefined is left out. */
  rows: Readonly<Record<string, ReactNode>>;
}>;

/** Names and values, aligned. */
export function Facts({ rows }: FactsProps): ReactNode {
  return (
    <dl className="grid grid-cols-[minmax(5rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 sm:grid-cols-[minmax(7rem,auto)_minmax(0,1fr)]">
      {Object.entries(rows)
        .filter(([, value]) => value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-3">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

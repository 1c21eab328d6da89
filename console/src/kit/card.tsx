import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icons.tsx";

type CardProps = Readonly<{
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  className?: string | undefined;
  /** Puts the content at a distance from the border; more classes for it. */
  body?: string | undefined;
}>;

export function Card({ title, actions, children, className, body }: CardProps): ReactNode {
  return (
    <section className={classNames("rounded-lg border border-line bg-surface shadow-raised", className)}>
      {title !== undefined && (
        <header className="flex min-h-11 items-center justify-between gap-3 border-b border-line px-4 py-2">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </header>
      )}
      {body === undefined ? children : <div className={classNames("px-4 py-3", body)}>{children}</div>}
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

type DisclosureProps = Readonly<{ title: ReactNode; className: string; children: ReactNode }>;

/** Content that a press on its title opens. */
export function Disclosure({ title, className, children }: DisclosureProps): ReactNode {
  return (
    <details className={classNames("group", className)}>
      <summary className="flex list-none flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5 hover:bg-hover">
        <span className="text-ink-3 transition-transform group-open:rotate-90">
          <Icon name="right" size={12} />
        </span>
        {title}
      </summary>
      {children}
    </details>
  );
}

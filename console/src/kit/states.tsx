import type { ReactNode } from "react";
import { Problem, sentenceOf } from "../api/client.ts";
import { type Tone, tints } from "./badge.tsx";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Text } from "./text.tsx";

type EmptyStateProps = Readonly<{ icon?: IconName; tone?: Tone; title: ReactNode; children?: ReactNode }>;

/** Says why there is nothing here, and what would change that. */
export function EmptyState({ icon = "check", tone = "neutral", title, children }: EmptyStateProps): ReactNode {
  return (
    <div className="grid justify-items-center gap-2 px-6 py-14 text-center">
      <span className={classNames("mb-1 grid size-10 place-items-center rounded-full", tints[tone])}>
        <Icon name={icon} size={20} />
      </span>
      <p className="max-w-md font-semibold">{title}</p>
      {children !== undefined && <div className="grid max-w-md justify-items-center gap-2 text-ink-2">{children}</div>}
    </div>
  );
}

type ErrorStateProps = Readonly<{ error: unknown; retry?: (() => void) | undefined }>;

export function ErrorState({ error, retry }: ErrorStateProps): ReactNode {
  return (
    <div role="alert">
      <EmptyState icon="warning" tone="critical" title={<Text>{sentenceOf(error)}</Text>}>
        {error instanceof Problem && <p className="mono text-ink-3">{error.code}</p>}
        {retry !== undefined && <Button onClick={retry}>Try again</Button>}
      </EmptyState>
    </div>
  );
}

type NoticeProps = Readonly<{ tone?: "critical" | "medium" | "accent" | "safe"; children: ReactNode }>;

/** A sentence within a form or a card. */
export function Notice({ tone = "critical", children }: NoticeProps): ReactNode {
  return (
    <div
      role={tone === "critical" ? "alert" : "status"}
      className={classNames("flex items-start gap-2 rounded-md px-3 py-2", tints[tone])}
    >
      <span className="mt-0.5">
        <Icon name={tone === "safe" ? "check" : tone === "accent" ? "clock" : "warning"} />
      </span>
      <div className="min-w-0">{children}</div>
    </div>
  );
}

/** An error as a notice. Empty when there is no error. */
export function ErrorNotice({ children }: { readonly children: string | undefined }): ReactNode {
  if (children === undefined) return null;
  return (
    <Notice>
      <Text lines>{children}</Text>
    </Notice>
  );
}

/** A placeholder while something loads. */
export function Skeleton({ rows = 6 }: { readonly rows?: number | undefined }): ReactNode {
  return (
    <div role="status" aria-label="Loading" className="grid gap-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="grid animate-breathe gap-1.5">
          <div className={classNames("h-3.5 rounded bg-line", ["w-2/5", "w-3/5", "w-1/2"][row % 3])} />
          <div className={classNames("h-3 rounded bg-sunken", ["w-4/5", "w-3/4", "w-2/3"][row % 3])} />
        </div>
      ))}
    </div>
  );
}

type NotYetProps = Readonly<{
  /** Null while it loads. */
  error: unknown;
  again: () => unknown;
  rows?: number | undefined;
}>;

/** Shown before the first answer: a placeholder, or the error. */
export function NotYet({ error, again, rows }: NotYetProps): ReactNode {
  return error === null ? <Skeleton rows={rows} /> : <ErrorState error={error} retry={() => void again()} />;
}

import type { ReactNode } from "react";
import { Problem } from "../api/client.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Text } from "./text.tsx";

type EmptyStateProps = Readonly<{ icon?: IconName; title: string; children?: ReactNode }>;

/** Says why there is nothing here, and what would change that. */
export function EmptyState({ icon = "check", title, children }: EmptyStateProps): ReactNode {
  return (
    <div className="grid justify-items-center gap-2 px-6 py-14 text-center">
      <span className="mb-1 grid size-10 place-items-center rounded-full bg-sunken text-ink-3">
        <Icon name={icon} size={20} />
      </span>
      <p className="font-semibold">{title}</p>
      {children !== undefined && <div className="max-w-md text-ink-2">{children}</div>}
    </div>
  );
}

type ErrorStateProps = Readonly<{ error: unknown; retry?: (() => void) | undefined }>;

export function ErrorState({ error, retry }: ErrorStateProps): ReactNode {
  const isProblem = error instanceof Problem;
  return (
    <div role="alert" className="grid justify-items-center gap-3 px-6 py-14 text-center">
      <span className="grid size-10 place-items-center rounded-full bg-critical-tint text-critical">
        <Icon name="warning" size={20} />
      </span>
      <div className="max-w-md">
        <Text className="font-medium">{error instanceof Error ? error.message : String(error)}</Text>
        {isProblem && <p className="mono mt-1 text-ink-3">{error.code}</p>}
      </div>
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

type NoticeProps = Readonly<{ tone?: "critical" | "medium" | "accent" | "safe"; children: ReactNode }>;

/** A sentence within a form or a card. */
export function Notice({ tone = "critical", children }: NoticeProps): ReactNode {
  const looks = {
    critical: "bg-critical-tint text-critical",
    medium: "bg-medium-tint text-medium",
    accent: "bg-accent-tint text-accent",
    safe: "bg-safe-tint text-safe",
  } as const;
  return (
    <div
      role={tone === "critical" ? "alert" : "status"}
      className={classNames("flex items-start gap-2 rounded-md px-3 py-2", looks[tone])}
    >
      <span className="mt-0.5">
        <Icon name={tone === "safe" ? "check" : tone === "accent" ? "clock" : "warning"} />
      </span>
      <div className="min-w-0">{children}</div>
    </div>
  );
}

/** Why something did not work, as a notice. Nothing when it worked. */
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

/** Before there is anything to show: a placeholder, or why it failed. A failed reload does not replace what is shown. */
export function NotYet({ error, again, rows }: NotYetProps): ReactNode {
  return error === null ? <Skeleton rows={rows} /> : <ErrorState error={error} retry={() => void again()} />;
}

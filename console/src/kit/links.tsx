import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

type TextLinkProps = Readonly<{
  to: string;
  search?: Readonly<Record<string, string>>;
  onClick?: (() => void) | undefined;
  children: ReactNode;
}>;

/** A link within a sentence. */
export function TextLink({ to, search, onClick, children }: TextLinkProps): ReactNode {
  return (
    // The router types a search only for a literal path.
    <Link to={to} search={search as never} onClick={onClick} className="text-accent underline">
      {children}
    </Link>
  );
}

export function RunLink({ id }: { readonly id: string }): ReactNode {
  return (
    <TextLink to={`/runs/${encodeURIComponent(id)}`}>
      <Text className="mono">{id}</Text>
    </TextLink>
  );
}

type RowLinkProps = Readonly<{ to: string; isChosen: boolean; children: ReactNode }>;

export function RowLink({ to, isChosen, children }: RowLinkProps): ReactNode {
  return (
    <Link
      to={to}
      aria-current={isChosen ? "true" : undefined}
      className={classNames(
        "grid gap-1 border-b border-line px-4 py-2.5 -outline-offset-2",
        isChosen ? "max-lg:hover:bg-hover lg:bg-accent-tint" : "hover:bg-hover",
      )}
    >
      {children}
    </Link>
  );
}

type ToolNameProps = Readonly<{ tool: string; action: string; className?: string }>;

/** A tool, and its action when that is not the default one. */
export function ToolName({ tool, action, className }: ToolNameProps): ReactNode {
  return (
    <>
      <Text className={className}>{tool}</Text>
      {action !== "default" && <Text className="font-normal text-ink-2">{` ${action}`}</Text>}
    </>
  );
}

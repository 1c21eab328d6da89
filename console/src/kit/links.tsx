import type { CallState } from "@postern/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icons.tsx";
import { Text } from "./text.tsx";
import { useRowStop } from "./virtual-list.tsx";

/** A link within a sentence. */
export const TextLink = createLink(({ children, ...rest }: ComponentProps<"a">) => (
  <a {...rest} className="text-accent underline">
    {children}
  </a>
));

export function RunLink({ id }: { readonly id: string }): ReactNode {
  return (
    <TextLink to="/runs/{-$run}" params={{ run: id }}>
      <Text className="mono">{id}</Text>
    </TextLink>
  );
}

type CallsLinkProps = Readonly<{
  state?: CallState | undefined;
  tool?: string | undefined;
  agent?: string | undefined;
  search?: string;
  since?: string | undefined;
  children: ReactNode;
}>;

/** To the calls that a number counts. */
export function CallsLink({ state, tool, agent, search = agent, since, children }: CallsLinkProps): ReactNode {
  return (
    <TextLink to="/calls/{-$call}" params={{ call: undefined }} search={{ state, tool, search, since }}>
      {children}
    </TextLink>
  );
}

/** On a phone: from an entry back to its list. */
export const BackLink = createLink(({ children, ...rest }: ComponentProps<"a">) => (
  <a {...rest} className="flex items-center gap-1.5 border-b border-line bg-surface px-4 py-2.5 text-ink-2 lg:hidden">
    <Icon name="back" /> {children}
  </a>
));

type RowAnchorProps = ComponentProps<"a"> & { readonly isChosen: boolean };

/** A row of a list. */
export const RowLink = createLink(({ isChosen, children, ...rest }: RowAnchorProps) => {
  const stop = useRowStop();
  return (
    <a
      {...rest}
      {...stop}
      aria-current={isChosen ? "true" : undefined}
      className={classNames(
        "grid gap-1 border-b border-line px-4 py-2.5 -outline-offset-2",
        isChosen ? "max-lg:hover:bg-hover lg:bg-accent-tint" : "hover:bg-hover",
      )}
    >
      {children}
    </a>
  );
});

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

import type { ButtonHTMLAttributes, ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icons.tsx";

const looks = {
  primary: "bg-accent text-on-accent hover:bg-accent-strong border-transparent",
  quiet: "bg-surface text-ink border-line-strong hover:bg-hover",
  plain: "bg-transparent text-ink-2 border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-surface text-critical border-critical/50 hover:bg-critical-tint",
} as const;

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: keyof typeof looks;
  readonly size?: "small" | "normal" | "large";
  readonly icon?: IconName;
  /** The action is running: a second click does nothing. */
  readonly busy?: boolean;
  /** The key that does the same, shown on wide screens. */
  readonly hint?: string | undefined;
}

const sizes = {
  small: "h-7 max-sm:h-9 px-2 text-[0.9286rem]",
  normal: "h-8 max-sm:h-10 px-3",
  large: "h-11 px-4 text-[1.0714rem]",
} as const;

export function Button({
  look = "quiet",
  size = "normal",
  icon,
  busy = false,
  hint,
  children,
  className,
  disabled,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={classNames(
        "inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-60 aria-disabled:cursor-not-allowed aria-disabled:opacity-60",
        looks[look],
        sizes[size],
        className,
      )}
    >
      {icon !== undefined && <Icon name={icon} size={14} />}
      {children}
      {hint !== undefined && <Key>{hint}</Key>}
    </button>
  );
}

/** One key of the keyboard. */
function Key({ children }: { readonly children: string }): ReactNode {
  return (
    <span
      aria-hidden="true"
      className="ml-0.5 hidden h-4 min-w-4 items-center justify-center rounded-sm border border-current px-0.5 font-mono text-[0.75rem] leading-none opacity-70 lg:inline-flex"
    >
      {children}
    </span>
  );
}

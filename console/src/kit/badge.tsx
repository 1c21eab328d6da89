import { risks } from "@postern/core";
import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export type Tone = "neutral" | "accent" | "safe" | "medium" | "high" | "critical";

/** Background and text. */
export const tints: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-ink-2",
  accent: "bg-accent-tint text-accent",
  safe: "bg-safe-tint text-safe",
  medium: "bg-medium-tint text-medium",
  high: "bg-high-tint text-high",
  critical: "bg-critical-tint text-critical",
};

type BadgeProps = Readonly<{ tone?: Tone; children: ReactNode; title?: string | undefined }>;

export function Badge({ tone = "neutral", children, title }: BadgeProps): ReactNode {
  return (
    <span
      title={title}
      className={classNames(
        "inline-flex h-5 items-center gap-1 rounded px-1.5 text-[0.8571rem] font-medium whitespace-nowrap",
        tints[tone],
        tone === "accent" && "in-[.bg-accent-tint,[aria-current]]:bg-surface",
      )}
    >
      {children}
    </span>
  );
}

/** A word and a number of bars, so that the risk does not depend on colour. */
export function RiskBadge({ risk }: { readonly risk: string }): ReactNode {
  const level = (risks as readonly string[]).indexOf(risk);
  return (
    <Badge tone={risks[level] ?? "neutral"} title={`Risk: ${risk}`}>
      <span aria-hidden="true" className="flex items-end gap-px">
        {["h-[4px]", "h-[6px]", "h-[8px]", "h-[10px]"].map((height, bar) => (
          <span
            key={height}
            className={classNames("w-[3px] rounded-[1px] bg-current", height, bar > level && "opacity-25")}
          />
        ))}
      </span>
      {risk}
    </Badge>
  );
}

/** States of calls, requests, grants and runs, outcomes of events, verdicts. Any other state is neutral. */
const states: readonly (readonly [tone: Tone, states: readonly string[]])[] = [
  ["safe", ["ok", "approved", "used", "modified", "passed", "success", "ALLOW"]],
  ["accent", ["pending", "held", "suspended", "approved, not sent again", "attempted", "queued", "CONFIRM"]],
  ["medium", ["unknown", "timeout", "expired", "suppressed", "PREVIEW"]],
  ["high", ["denied", "refused", "blocked", "RAISE"]],
  ["critical", ["failed", "error", "failure", "BLOCK", "DENY"]],
];

type StateBadgeProps = Readonly<{ state: string; word?: string | undefined; title?: string | undefined }>;

/** @param word shown instead of the state */
export function StateBadge({ state, word, title }: StateBadgeProps): ReactNode {
  const [tone] = states.find(([, words]) => words.includes(state)) ?? ["neutral" as const];
  return (
    <Badge tone={tone} title={title}>
      {word ?? (state === "attempted" ? "running" : state)}
    </Badge>
  );
}

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
    <Badge tone={risks[level] ?? "neutral"}>
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

/** Each state of calls, requests, runs, events and verdicts: one word and one colour on all screens. Any other is neutral. */
const states = new Map<string, readonly [tone: Tone, word: string]>([
  // Calls.
  ["ok", ["safe", "ran ok"]],
  ["attempted", ["accent", "running"]],
  ["queued", ["accent", "queued"]],
  ["suspended", ["accent", "suspended"]],
  ["held", ["accent", "waiting"]],
  ["ready", ["accent", "approved, not run yet"]],
  ["unknown", ["medium", "unknown"]],
  ["timeout", ["medium", "timed out"]],
  ["refused", ["high", "blocked"]],
  ["failed", ["critical", "failed"]],
  ["error", ["critical", "failed"]],
  // Requests.
  ["pending", ["accent", "waiting"]],
  ["approved", ["safe", "approved"]],
  ["modified", ["safe", "approved as edited"]],
  ["denied", ["high", "denied"]],
  ["expired", ["medium", "expired"]],
  // Runs.
  ["waiting", ["accent", "waiting"]],
  ["completed", ["safe", "completed"]],
  // Events.
  ["success", ["safe", "success"]],
  ["failure", ["critical", "failure"]],
  ["suppressed", ["medium", "suppressed"]],
  // Verdicts and what a rule does.
  ["ALLOW", ["safe", "allowed"]],
  ["CONFIRM", ["accent", "needs approval"]],
  ["PREVIEW", ["medium", "preview"]],
  ["BLOCK", ["high", "blocked"]],
  ["DENY", ["high", "denied"]],
  ["RAISE", ["high", "raises the risk"]],
]);

/** The word for a state, as it is read within a sentence too. */
export function stateWord(state: string): string {
  return states.get(state)?.[1] ?? state;
}

type StateBadgeProps = Readonly<{ state: string; title?: string | undefined }>;

export function StateBadge({ state, title }: StateBadgeProps): ReactNode {
  const [tone, word] = states.get(state) ?? (["neutral", state] as const);
  return (
    <Badge tone={tone} title={title}>
      {word}
    </Badge>
  );
}

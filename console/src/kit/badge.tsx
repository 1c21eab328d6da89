import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export type Tone = "neutral" | "accent" | "safe" | "medium" | "high" | "critical";

const tones: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-ink-2",
  accent: "bg-accent-tint text-accent in-[.bg-accent-tint,[aria-current]]:bg-surface",
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
        tones[tone],
      )}
    >
      {children}
    </span>
  );
}

const risks = new Map<string, Tone>([
  ["safe", "safe"],
  ["medium", "medium"],
  ["high", "high"],
  ["critical", "critical"],
]);

/** A word and a number of bars, so that the risk does not depend on colour. */
export function RiskBadge({ risk }: { readonly risk: string }): ReactNode {
  const level = [...risks.keys()].indexOf(risk);
  return (
    <Badge tone={risks.get(risk) ?? "neutral"} title={`Risk: ${risk}`}>
      <span aria-hidden="true" className="flex items-end gap-px">
        {[0, 1, 2, 3].map((bar) => (
          <span
            key={bar}
            className={classNames(
              "w-[3px] rounded-[1px] bg-current",
              ["h-[4px]", "h-[6px]", "h-[8px]", "h-[10px]"][bar],
              bar > level && "opacity-25",
            )}
          />
        ))}
      </span>
      {risk}
    </Badge>
  );
}

const outcomes = new Map<string, Tone>([
  ["ok", "safe"],
  ["approved", "safe"],
  ["used", "safe"],
  ["modified", "safe"],
  ["pending", "accent"],
  ["held", "accent"],
  ["suspended", "accent"],
  ["approved, not sent again", "accent"],
  ["attempted", "accent"],
  ["queued", "accent"],
  ["failed", "critical"],
  ["error", "critical"],
  ["denied", "high"],
  ["refused", "high"],
  ["blocked", "high"],
  ["unknown", "medium"],
  ["timeout", "medium"],
  ["expired", "medium"],
]);

export function StateBadge({ state }: { readonly state: string }): ReactNode {
  return <Badge tone={outcomes.get(state) ?? "neutral"}>{state === "attempted" ? "running" : state}</Badge>;
}

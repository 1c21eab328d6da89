import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { useNow } from "./use-now.ts";

const units: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });

export function relative(atMs: number, nowMs: number): string {
  const seconds = Math.round((atMs - nowMs) / 1_000);
  if (Math.abs(seconds) < 5) return "now";
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? (["second", 1] as const);
  return words.format(Math.trunc(seconds / size), unit);
}

/** How long something is or took: `840 ms`, `4.2 s`, `3 min 05 s`, `2 h 10 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Relative in sight, exact (the reader's zone, and UTC) on hover and for screen readers. */
export function Time({ at }: { readonly at: string | number | undefined }): ReactNode {
  const nowMs = useNow();
  if (at === undefined) return <span className="text-ink-3">–</span>;
  const date = new Date(at);
  const exact = `${date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" })} (${date.toISOString()})`;
  return (
    <time dateTime={date.toISOString()} title={exact} className="tabular whitespace-nowrap">
      {relative(date.getTime(), nowMs)}
    </time>
  );
}

/** Counts down to an expiry; urgent under a minute. */
export function TimeLeft({ until }: { readonly until: string | number }): ReactNode {
  const leftMs = new Date(until).getTime() - useNow();
  const look = leftMs < 60_000 ? "text-critical font-medium" : leftMs < 300_000 ? "text-high" : "text-ink-2";
  return (
    <time
      dateTime={new Date(until).toISOString()}
      title={`Until ${new Date(until).toLocaleString("en-GB")}`}
      className={classNames("tabular whitespace-nowrap", look)}
    >
      {leftMs <= 0 ? "expired" : duration(Math.max(1_000, leftMs))}
    </time>
  );
}

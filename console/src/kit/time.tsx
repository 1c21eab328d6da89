import { type ReactNode, useSyncExternalStore } from "react";
import { serverNow } from "../api/server-time.ts";
import { classNames } from "./class-names.ts";
import { coarse, exactTime, relative } from "./format.ts";

/** One tick a second for all who show time, and none while nothing does or the page is hidden. */
const listeners = new Set<() => void>();
let nowMs = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;
document.addEventListener("visibilitychange", tick);

function tick(): void {
  if (document.hidden) return;
  nowMs = serverNow();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    nowMs = serverNow();
    timer = setInterval(tick, 1_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The server's clock, milliseconds; renders again each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** Whether its time is over; renders again when it is. */
export function useIsOver(until: string): boolean {
  return useSyncExternalStore(subscribe, () => Date.parse(until) <= nowMs);
}

type TimeProps = Readonly<{
  at: string | number | undefined;
  /** Not relative: date, time and zone are in sight. */
  isExact?: boolean;
}>;

/** Relative in sight; exact on hover and for screen readers, in the reader's zone and in UTC. */
export function Time({ at, isExact = false }: TimeProps): ReactNode {
  if (at === undefined) return <span className="text-ink-3">–</span>;
  const date = new Date(at);
  const exact = exactTime(date);
  return (
    <time
      dateTime={date.toISOString()}
      title={`${exact} (${date.toISOString()})`}
      className="tabular whitespace-nowrap"
    >
      {isExact ? exact : <Relative atMs={date.getTime()} />}
    </time>
  );
}

function Relative({ atMs }: { readonly atMs: number }): ReactNode {
  return relative(atMs, useNow());
}

/** Counts down to an expiry. */
export function TimeLeft({ until }: { readonly until: string | number }): ReactNode {
  const leftMs = new Date(until).getTime() - useNow();
  const look = leftMs < 60_000 ? "text-critical font-medium" : leftMs < 300_000 ? "text-high" : "text-ink-2";
  return (
    <time
      dateTime={new Date(until).toISOString()}
      title={`Until ${exactTime(new Date(until))}`}
      className={classNames("tabular whitespace-nowrap", look)}
    >
      {leftMs <= 0 ? "expired" : coarse(Math.max(1_000, leftMs))}
    </time>
  );
}

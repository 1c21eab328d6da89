import { useSyncExternalStore } from "react";
import { serverNow } from "../api/server-time.ts";

/** One tick a second for all who show time, and none while nobody does or the page is hidden. */
const listeners = new Set<() => void>();
let nowMs = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;

/** Also when the page comes back into sight: what it shows then is not old. */
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

/** The wall clock of the server, milliseconds; renders again each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

/** Whether its time is over; renders again when it is. */
export function useIsOver(until: string): boolean {
  return useSyncExternalStore(subscribe, () => Date.parse(until) <= nowMs);
}

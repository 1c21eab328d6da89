import { useSyncExternalStore } from "react";

/** One tick a second for all who show time, and none while nobody does or the page is hidden. */
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** Also when the page comes back into sight: what it shows then is not old. */
document.addEventListener("visibilitychange", tick);

function tick(): void {
  if (document.hidden) return;
  nowMs = Date.now();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    nowMs = Date.now();
    timer = setInterval(tick, 1_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The wall clock, milliseconds; renders again each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs);
}

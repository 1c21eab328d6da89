/**
 * What running calls say of themselves, as they say it: of each its last word, for as long as it runs.
 *
 * Invariant: nothing is kept of a call that is known to have ended, nor of what happened while the line was broken.
 */
import { useEffect, useSyncExternalStore } from "react";
import { type FeedEventView, useFeed } from "./feed.ts";

export interface Progress {
  readonly text: string;
  /** Of the work, from 0 to 1, when the tool knows. */
  readonly fraction: number | undefined;
}

/** Beyond so many the one that has been there longest is forgotten. */
const mostKept = 1_000;
/** By the arrival that runs. */
const kept = new Map<string, Progress>();
/** The arrival that runs, by the call it is recorded as: one that waited for a person runs when it is sent again. */
const runningAs = new Map<string, string>();
const listeners = new Set<() => void>();
/** Words of the audit log that end a call, and the announcement that it has its answer. */
const endings = new Set(
  ["left", "succeeded", "failed", "unknown", "cancelled", "suspended"].map((word) => `tool_call.${word}`),
);

function tell(): void {
  for (const listener of listeners) listener();
}

function hear({ type, call_id, summary, data }: FeedEventView): void {
  if (call_id === undefined) return;
  if (type === "tool_call.progressed") {
    const { fraction, recorded_as } = data;
    kept.set(call_id, { text: summary, fraction: typeof fraction === "number" ? fraction : undefined });
    if (typeof recorded_as === "string") runningAs.set(recorded_as, call_id);
    const [oldest] = kept.keys();
    if (kept.size > mostKept && oldest !== undefined) drop(oldest);
    tell();
  } else if (endings.has(type) && drop(call_id)) tell();
}

function drop(callId: string): boolean {
  for (const [recorded, running] of runningAs) if (running === callId) runningAs.delete(recorded);
  return kept.delete(callId);
}

function forget(): void {
  kept.clear();
  runningAs.clear();
  tell();
}

/** Once for the page, whichever screen is open: a screen that is opened later knows what was said before. */
export function useProgressKept(): void {
  useFeed(hear, forget);
  useEffect(() => forget, []); // the next person here begins anew
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
  };
}

export function useProgress(callId: string): Progress | undefined {
  return useSyncExternalStore(subscribe, () => kept.get(runningAs.get(callId) ?? callId));
}

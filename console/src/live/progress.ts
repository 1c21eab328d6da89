/**
 * The last progress message of each running call.
 *
 * Invariant: nothing is kept of a call that has ended, nor of what happened while the connection was broken.
 */
import { useEffect } from "react";
import { SharedValue, useShared } from "../kit/shared-value.ts";
import { type FeedEventView, useFeed } from "./feed.ts";

export interface Progress {
  readonly text: string;
  /** From 0 to 1, when the tool knows. */
  readonly fraction: number | undefined;
}

/** With more, the oldest is removed. */
const mostKept = 1_000;
/** By the arrival that runs. */
const messages = new SharedValue(new Map<string, Progress>());
/** The arrival that runs, by the call it is recorded as: a held call runs when it is sent again. */
const runningAs = new Map<string, string>();
const endings = new Set(
  ["left", "succeeded", "failed", "unknown", "cancelled", "suspended"].map((word) => `tool_call.${word}`),
);

function take({ type, call_id, summary, data }: FeedEventView): void {
  if (call_id === undefined) return;
  if (type === "tool_call.progressed") {
    const { fraction, recorded_as } = data;
    messages.value.set(call_id, { text: summary, fraction: typeof fraction === "number" ? fraction : undefined });
    if (typeof recorded_as === "string") runningAs.set(recorded_as, call_id);
    const [oldest] = messages.value.keys();
    if (messages.value.size > mostKept && oldest !== undefined) remove(oldest);
    messages.set(messages.value);
  } else if (endings.has(type) && remove(call_id)) messages.set(messages.value);
}

function remove(callId: string): boolean {
  for (const [recorded, running] of runningAs) if (running === callId) runningAs.delete(recorded);
  return messages.value.delete(callId);
}

function clear(): void {
  runningAs.clear();
  messages.set(new Map());
}

/** Once for the page: a screen that is opened later has the earlier messages. */
export function useProgressKept(): void {
  useFeed(take, clear);
  useEffect(() => clear, []); // another person may sign in next
}

export function useProgress(callId: string): Progress | undefined {
  return useShared(messages, (all) => all.get(runningAs.get(callId) ?? callId));
}

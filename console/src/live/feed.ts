/**
 * What happens, as it happens: one line to `GET /v1/events` for the whole page.
 *
 * Invariant: every event is told once and in order; after a break the line resumes after the last id, and where the
 * server says `reset` (or an id is too old) the listeners read anew. The page always knows whether it is live.
 * The line is read with `fetch`, because an EventSource hides the status: a 401 must end the session, not be retried.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { send } from "../api/client.ts";
import { parseStream } from "./sse.ts";

/** Never arguments, results or secrets: what they are is asked for by id. */
export interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly run_id?: string;
  readonly call_id?: string;
  readonly approval_id?: string;
  readonly tool?: string;
  readonly summary: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type LiveState = "connecting" | "live" | "reconnecting";

export interface FeedListener {
  readonly event: (event: FeedEvent) => void;
  /** Things happened that nobody tells: read anew. */
  readonly reset: () => void;
}

/** The server breathes every 15 s; a line that is silent for longer is dead, whatever the socket says. */
const silenceMs = 40_000;
const longestWaitMs = 5_000;

const listeners = new Set<FeedListener>();
const watchers = new Set<() => void>();
let state: LiveState = "connecting";
let line: AbortController | undefined;
let lastId: string | undefined;

function become(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher();
}

/** A browser has few lines to one host: a page that nobody looks at gives its line back, and resumes when it is looked at. */
const unseenMs = 60_000;

/** Opens the line and keeps it open until what it answers is called. */
export function openFeed(onSignedOut: () => void): () => void {
  let closing = begin(onSignedOut);
  let leaving: ReturnType<typeof setTimeout> | undefined;
  const seen = (): void => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(() => end(closing), unseenMs);
    else if (closing.signal.aborted) closing = begin(onSignedOut);
  };
  document.addEventListener("visibilitychange", seen);
  return () => {
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(leaving);
    end(closing);
    lastId = undefined;
  };
}

function begin(onSignedOut: () => void): AbortController {
  const closing = new AbortController();
  void keepOpen(closing.signal, onSignedOut);
  return closing;
}

function end(closing: AbortController): void {
  closing.abort();
  line?.abort();
  become("connecting");
}

async function keepOpen(closing: AbortSignal, onSignedOut: () => void): Promise<void> {
  for (let attempt = 0; !closing.aborted; attempt += 1) {
    const began = Date.now();
    const ended = await readLine();
    if (closing.aborted) return;
    if (ended === 401) return onSignedOut();
    become("reconnecting");
    if (Date.now() - began > 10_000) attempt = 0;
    await wait(Math.min(longestWaitMs, 150 * 2 ** Math.min(attempt, 6)), closing);
  }
}

/** One line, to its end. Answers the status it ended with; 0 when there was none. */
async function readLine(): Promise<number> {
  const controller = new AbortController();
  line = controller;
  let silence = setTimeout(() => controller.abort(), silenceMs);
  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => controller.abort(), silenceMs);
  };
  try {
    const response = await send("GET", "/v1/events", {
      signal: controller.signal,
      headers: { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) },
    });
    if (!response.ok || response.body === null) return response.status;
    const isFirst = lastId === undefined;
    const wasBroken = state === "reconnecting";
    become("live");
    // What was shown before the line was there may be old; after a break without an id nobody can tell.
    if (isFirst && wasBroken) for (const listener of listeners) listener.reset();
    await parseStream(response.body, heard, take);
    return response.status;
  } catch {
    return 0; // the line broke; the next one resumes
  } finally {
    clearTimeout(silence);
  }
}

function take({ event, id, data }: { readonly event: string; readonly id: string; readonly data: string }): void {
  if (id !== "") lastId = id;
  if (event === "reset") {
    for (const listener of listeners) listener.reset();
    return;
  }
  if (data === "") return;
  // The server's own words: doors/http has their schema.
  const told = JSON.parse(data) as FeedEvent;
  if (typeof told.type !== "string") return;
  for (const listener of listeners) listener.event(told);
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Hears events while the component is there. */
export function useFeed(onEvent: (event: FeedEvent) => unknown, onReset: () => void): void {
  const latest = useRef({ onEvent, onReset });
  useEffect(() => {
    latest.current = { onEvent, onReset };
  });
  useEffect(() => {
    const listener: FeedListener = {
      event: (event) => latest.current.onEvent(event),
      reset: () => latest.current.onReset(),
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => state,
  );
}

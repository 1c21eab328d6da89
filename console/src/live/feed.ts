/**
 * The events of the server, as they happen. The pages of one browser share one connection: one page has it, and sends
 * what it reads to the others.
 *
 * Invariant: listeners get every event once and in order. After a break the connection resumes after the last id. When
 * the server sends `reset`, the listeners read everything again. The page always knows whether it is live.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { type FeedEventView, keepOpen, type LiveState, silenceMs, type Word } from "./line.ts";

export type { FeedEventView, LiveState } from "./line.ts";

interface FeedListener {
  readonly event: (event: FeedEventView) => void;
  /** Events were missed: read everything again. */
  readonly reset: () => void;
}

const listeners = new Set<FeedListener>();
const watchers = new Set<() => void>();
let state: LiveState = "connecting";
let lastId: string | undefined;
let isConnected = false;

/** Over TLS and on loopback. Elsewhere each page has its own connection. */
function canShare(): boolean {
  return "locks" in navigator && typeof BroadcastChannel === "function";
}

interface FeedOptions {
  /** Pages of another person get nothing. */
  readonly userId: string;
  /** All that is shown was read after this event. */
  readonly since: string | undefined;
}

/** Opens a connection or joins the one of another page. Returns a function that ends it. */
export function openFeed({ userId, since }: FeedOptions, onSignedOut: () => void): () => void {
  lastId = since;
  const close = canShare() ? share(userId, onSignedOut) : keepOwn(onSignedOut);
  return () => {
    close();
    lastId = undefined;
    become("connecting");
  };
}

/** Whether this page has the connection that the pages of this browser share. */
export function hasConnection(): boolean {
  return isConnected;
}

type Shared = Word | { readonly kind: "hello" };

function share(userId: string, onSignedOut: () => void): () => void {
  const name = `postern-line ${userId}`;
  const channel = new BroadcastChannel(name);
  const leaving = new AbortController();
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const tell = (word: Word): void => {
    channel.postMessage(word);
    take(word, onSignedOut);
  };
  let leading = new AbortController();
  const lead = async (): Promise<void> => {
    if (leaving.signal.aborted) return;
    isConnected = true;
    clearTimeout(silenceTimer);
    leading = new AbortController();
    await keepOpen({ state, lastId }, tell, leading.signal);
    isConnected = false;
  };
  /** If the page that has the connection was put to sleep, a visible page takes it over. */
  const listen = (): void => {
    clearTimeout(silenceTimer);
    if (!isConnected) silenceTimer = setTimeout(() => (document.hidden ? listen() : queue({ steal: true })), silenceMs);
  };
  const queue = (how: LockOptions): void => {
    const asked = "steal" in how ? how : { ...how, signal: leaving.signal };
    navigator.locks.request(name, asked, lead).catch(() => taken());
  };
  const taken = (): void => {
    if (leaving.signal.aborted) return; // left before its turn
    // This page slept, and missed what another one read since.
    leading.abort();
    isConnected = false;
    for (const listener of listeners) listener.reset();
    listen();
    queue({});
  };
  channel.onmessage = ({ data }: MessageEvent<Shared>) => {
    if (data.kind === "hello") {
      if (isConnected) channel.postMessage({ kind: "state", state, lastId } satisfies Shared);
    } else if (!isConnected) {
      listen();
      take(data, onSignedOut);
    }
  };
  channel.postMessage({ kind: "hello" } satisfies Shared);
  listen();
  queue({});
  return () => {
    leaving.abort();
    leading.abort();
    clearTimeout(silenceTimer);
    channel.close();
    isConnected = false;
  };
}

/** A browser allows few connections to one host: a hidden page closes its own, and resumes when it is visible. */
const hiddenMs = 60_000;

function keepOwn(onSignedOut: () => void): () => void {
  let closing = begin(onSignedOut);
  let leaving: ReturnType<typeof setTimeout> | undefined;
  const leave = (): void => {
    closing.abort();
    become("connecting");
  };
  const changed = (): void => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(leave, hiddenMs);
    else if (closing.signal.aborted) closing = begin(onSignedOut);
  };
  document.addEventListener("visibilitychange", changed);
  return () => {
    document.removeEventListener("visibilitychange", changed);
    clearTimeout(leaving);
    closing.abort();
  };
}

function begin(onSignedOut: () => void): AbortController {
  const closing = new AbortController();
  void keepOpen({ state, lastId }, (word) => take(word, onSignedOut), closing.signal);
  return closing;
}

function become(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher();
}

function take(word: Word, onSignedOut: () => void): void {
  switch (word.kind) {
    case "breath":
      return;
    case "ended":
      onSignedOut();
      return;
    case "state":
      lastId = word.lastId ?? lastId;
      become(word.state);
      return;
    case "reset":
      if (word.id !== "") lastId = word.id;
      for (const listener of listeners) listener.reset();
      return;
    case "event":
      // The next page that has the connection may read an event again.
      if (lastId !== undefined && !isAfter(word.event.id, lastId)) return;
      lastId = word.event.id;
      for (const listener of listeners) listener.event(word.event);
  }
}

/** An id is the number of a log entry, then a dot and the number of an announcement after it. */
function isAfter(id: string, before: string): boolean {
  const [entry = 0, step = 0] = id.split(".").map(Number);
  const [entryBefore = 0, stepBefore = 0] = before.split(".").map(Number);
  return entry > entryBefore || (entry === entryBefore && step > stepBefore);
}

/** Listens while the component is mounted. */
export function useFeed(onEvent: (event: FeedEventView) => unknown, onReset: () => void): void {
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

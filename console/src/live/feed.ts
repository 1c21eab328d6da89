/**
 * What happens, as it happens: one line for all pages of this browser, which the page that has it shares with the others.
 *
 * Invariant: every event is told once and in order; after a break the line resumes after the last id, and where the
 * server says `reset` (or an id is too old) the listeners read anew. The page always knows whether it is live.
 * The line is read with `fetch`, because an EventSource hides the status: a 401 must end the session, not be retried.
 */
import { useEffect, useRef, useSyncExternalStore } from "react";
import { type FeedEventView, keepOpen, type LiveState, silenceMs, type Word } from "./line.ts";

export type { FeedEventView, LiveState } from "./line.ts";

interface FeedListener {
  readonly event: (event: FeedEventView) => void;
  /** Things happened that nobody tells: read anew. */
  readonly reset: () => void;
}

const listeners = new Set<FeedListener>();
const watchers = new Set<() => void>();
let state: LiveState = "connecting";
let lastId: string | undefined;
let hasLine = false;

/** Where pages can agree on one (over TLS and on loopback); elsewhere each has its own. */
function canShare(): boolean {
  return "locks" in navigator && typeof BroadcastChannel === "function";
}

/** Who looks. */
interface Looking {
  /** Pages of others are told nothing. */
  readonly userId: string;
  /** Everything here was read after this event. */
  readonly since: string | undefined;
}

/** Opens the line, or joins those who have one, until what it answers is called. */
export function openFeed({ userId, since }: Looking, onSignedOut: () => void): () => void {
  lastId = since;
  const close = canShare() ? share(userId, onSignedOut) : keepOwn(onSignedOut);
  return () => {
    close();
    lastId = undefined;
    become("connecting");
  };
}

/** Of the pages of one browser the one that tells the others what happens. */
export function isTeller(): boolean {
  return hasLine;
}

type Shared = Word | { readonly kind: "hello" };

function share(userId: string, onSignedOut: () => void): () => void {
  const name = `postern-line ${userId}`;
  const channel = new BroadcastChannel(name);
  const leaving = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const tell = (word: Word): void => {
    channel.postMessage(word);
    hear(word, onSignedOut);
  };
  let leading = new AbortController();
  const lead = async (): Promise<void> => {
    if (leaving.signal.aborted) return;
    hasLine = true;
    clearTimeout(silence);
    leading = new AbortController();
    await keepOpen({ state, lastId }, tell, leading.signal);
    hasLine = false;
  };
  /** Should who has the line have been put to sleep, whoever is looked at takes it. */
  const listen = (): void => {
    clearTimeout(silence);
    if (!hasLine) silence = setTimeout(() => (document.hidden ? listen() : queue({ steal: true })), silenceMs);
  };
  const queue = (how: LockOptions): void => {
    const asked = "steal" in how ? how : { ...how, signal: leaving.signal };
    navigator.locks.request(name, asked, lead).catch(() => taken());
  };
  const taken = (): void => {
    if (leaving.signal.aborted) return; // left before its turn
    // It slept, and another has the line and told what nobody here heard.
    leading.abort();
    hasLine = false;
    for (const listener of listeners) listener.reset();
    listen();
    queue({});
  };
  channel.onmessage = ({ data }: MessageEvent<Shared>) => {
    if (data.kind === "hello") {
      if (hasLine) channel.postMessage({ kind: "state", state, lastId } satisfies Shared);
    } else if (!hasLine) {
      listen();
      hear(data, onSignedOut);
    }
  };
  channel.postMessage({ kind: "hello" } satisfies Shared);
  listen();
  queue({});
  return () => {
    leaving.abort();
    leading.abort();
    clearTimeout(silence);
    channel.close();
    hasLine = false;
  };
}

/** A browser has few lines to one host: a page that nobody looks at gives its line back, and resumes when it is looked at. */
const unseenMs = 60_000;

function keepOwn(onSignedOut: () => void): () => void {
  let closing = begin(onSignedOut);
  let leaving: ReturnType<typeof setTimeout> | undefined;
  const leave = (): void => {
    closing.abort();
    become("connecting");
  };
  const seen = (): void => {
    clearTimeout(leaving);
    if (document.hidden) leaving = setTimeout(leave, unseenMs);
    else if (closing.signal.aborted) closing = begin(onSignedOut);
  };
  document.addEventListener("visibilitychange", seen);
  return () => {
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(leaving);
    closing.abort();
  };
}

function begin(onSignedOut: () => void): AbortController {
  const closing = new AbortController();
  void keepOpen({ state, lastId }, (word) => hear(word, onSignedOut), closing.signal);
  return closing;
}

function become(next: LiveState): void {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher();
}

function hear(word: Word, onSignedOut: () => void): void {
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
      // The next one who has the line may read again what the one before has told.
      if (lastId !== undefined && !isAfter(word.event.id, lastId)) return;
      lastId = word.event.id;
      for (const listener of listeners) listener.event(word.event);
  }
}

/** As the server numbers them: an entry of the log, and what was announced after it. */
function isAfter(id: string, before: string): boolean {
  const [entry = 0, step = 0] = id.split(".").map(Number);
  const [entryBefore = 0, stepBefore = 0] = before.split(".").map(Number);
  return entry > entryBefore || (entry === entryBefore && step > stepBefore);
}

/** Hears events while the component is there. */
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

/**
 * The events of the server, as they happen. The pages of one browser share one connection: one page has it, and sends
 * what it reads to the others.
 *
 * Invariant: listeners get every event once and in order. After a break the connection resumes after the last id. When
 * the server sends `reset`, the listeners read everything again. The page always knows whether it is live.
 */
import { useEffect, useRef } from "react";
import { SharedValue, useShared } from "../kit/shared-value.ts";
import { type FeedEventView, keepOpen, type LiveState, type Message, silenceMs } from "./connection.ts";

export type { FeedEventView, LiveState } from "./connection.ts";

interface FeedListener {
  readonly event: (event: FeedEventView) => void;
  /** Events were missed: read everything again. */
  readonly reset: () => void;
}

const listeners = new Set<FeedListener>();
const liveState = new SharedValue<LiveState>("connecting");
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
    liveState.set("connecting");
  };
}

/** Whether this page has the connection that the pages of this browser share. */
export function hasConnection(): boolean {
  return isConnected;
}

type Shared = Message | { readonly kind: "hello" };

function share(userId: string, onSignedOut: () => void): () => void {
  const name = `postern-connection ${userId}`;
  const channel = new BroadcastChannel(name);
  const leaving = new AbortController();
  let silenceTimer: ReturnType<typeof setTimeout> | undefined;
  const publish = (message: Message): void => {
    channel.postMessage(message);
    take(message, onSignedOut);
  };
  let leading = new AbortController();
  const lead = async (): Promise<void> => {
    if (leaving.signal.aborted) return;
    isConnected = true;
    clearTimeout(silenceTimer);
    leading = new AbortController();
    await keepOpen({ state: liveState.value, lastId }, publish, leading.signal);
    isConnected = false;
  };
  /** If the page that has the connection is suspended, a visible page takes the connection over. */
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
    // This page was suspended, and missed the events that another page read.
    leading.abort();
    isConnected = false;
    for (const listener of listeners) listener.reset();
    listen();
    queue({});
  };
  channel.onmessage = ({ data }: MessageEvent<Shared>) => {
    if (data.kind === "hello") {
      if (isConnected) channel.postMessage({ kind: "state", state: liveState.value, lastId } satisfies Shared);
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
    liveState.set("connecting");
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
  void keepOpen({ state: liveState.value, lastId }, (message) => take(message, onSignedOut), closing.signal);
  return closing;
}

function take(message: Message, onSignedOut: () => void): void {
  switch (message.kind) {
    case "alive":
      return;
    case "ended":
      onSignedOut();
      return;
    case "state":
      lastId = message.lastId ?? lastId;
      liveState.set(message.state);
      return;
    case "reset":
      if (message.id !== "") lastId = message.id;
      for (const listener of listeners) listener.reset();
      return;
    case "event":
      // The next page that has the connection may read an event again.
      if (lastId !== undefined && !isAfter(message.event.id, lastId)) return;
      lastId = message.event.id;
      for (const listener of listeners) listener.event(message.event);
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
  return useShared(liveState, (state) => state);
}

/**
 * Events make what is shown fresh. The first event refreshes at once, further ones together a little later. A read that
 * fails is tried again until it succeeds.
 *
 * Invariant: when the connection is back, every query that failed is asked again. What was read last stays meanwhile.
 */
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { Problem, readSince, sessionEnded } from "../api/index.ts";
import { type FeedEventView, openFeed, useFeed, useLiveState } from "./feed.ts";

type Wanted = (query: Query) => boolean;

const isLive: Wanted = ({ queryKey: [first] }) => first === "live";
const isOfRequests: Wanted = ({ queryKey: [first, route] }) =>
  first === "live" && typeof route === "string" && route.startsWith("GET /v1/approvals");
const isOther: Wanted = (query) => isLive(query) && !isOfRequests(query);
const isAny: Wanted = ({ queryKey: [first] }) => first !== "session";
const hasFailed: Wanted = ({ state }) => state.error !== null || state.fetchFailureCount > 0;

interface Pace {
  /** From the first event to the read. */
  readonly firstMs: number;
  /** From one read to the next. */
  readonly nextMs: number;
  /** Also while the page is hidden: its title counts. */
  readonly isAlways: boolean;
}

const longestPauseMs = 15_000;

/** Whether another try may help: a refusal is final. */
function mayHelp({ state: { error } }: Query): boolean {
  return error !== null && !(error instanceof Problem && error.status > 0 && error.status < 500);
}

/** Refreshes at a pace; the next read begins when the last one has ended. */
class Refresher {
  readonly #client: QueryClient;
  readonly #pace: Pace;
  /** Of all events since the last read. */
  #wanted = new Set<Wanted>();
  #isRunning = false;
  /** Ends the wait after a failure. */
  #wake: (() => void) | undefined;

  constructor(client: QueryClient, pace: Pace) {
    this.#client = client;
    this.#pace = pace;
  }

  refresh(wanted: Wanted): void {
    this.#wanted.add(wanted);
    this.#wake?.();
    if (!this.#isRunning) void this.#run();
  }

  #nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const { firstMs, nextMs, isAlways } = this.#pace;
    await pause(firstMs);
    for (let failures = 0; this.#wanted.size > 0; ) {
      if (!isAlways) await whenVisible();
      const wanted = [...this.#wanted];
      this.#wanted.clear();
      const predicate: Wanted = (query) => wanted.some((one) => one(query));
      const began = performance.now();
      await this.#client.invalidateQueries({ predicate });
      const failed: Wanted = (query) => predicate(query) && mayHelp(query);
      failures =
        this.#client.getQueryCache().findAll({ type: "active", predicate: failed }).length > 0 ? failures + 1 : 0;
      // A list that takes long to read is read less often.
      const restMs = failures === 0 ? 2 * (performance.now() - began) : nextMs;
      await pause(Math.max(nextMs, Math.min(longestPauseMs, restMs)));
      if (failures === 0) continue;
      this.refresh(failed);
      await Promise.race([pause(Math.min(longestPauseMs, 500 * 2 ** failures)), this.#nextEvent()]);
    }
    this.#isRunning = false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function whenVisible(): Promise<void> | undefined {
  if (!document.hidden) return undefined;
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}

/** A role or an account changed: on every card, others may decide. */
const changesWhoMay = /^(?:approval\.deciders|operator\.action\.(?:account|token))/;

function isOfRequest({ approval_id, type }: FeedEventView): boolean {
  return approval_id !== undefined || changesWhoMay.test(type);
}

/** Once for the page. */
export function useFreshness(userId: string | undefined): void {
  const client = useQueryClient();
  useEffect(() => {
    if (userId === undefined) return undefined;
    return openFeed({ userId, since: readSince(client) }, () => sessionEnded(client));
  }, [userId, client]);
  const [requests, others] = useMemo(
    () => [
      new Refresher(client, { firstMs: 15, nextMs: 150, isAlways: true }),
      new Refresher(client, { firstMs: 500, nextMs: 500, isAlways: false }),
    ],
    [client],
  );
  useFeed(
    (event) => {
      // A progress event has all of it: there is nothing to read.
      if (event.type === "tool_call.progressed") return;
      if (isOfRequest(event)) requests.refresh(isOfRequests);
      others.refresh(isOther);
    },
    () => {
      requests.refresh(isOfRequests);
      others.refresh(isAny);
    },
  );
  const state = useLiveState();
  const last = useRef(state);
  useEffect(() => {
    const isBack = state === "live" && last.current === "reconnecting";
    if (state !== "connecting") last.current = state;
    if (isBack) void client.refetchQueries({ predicate: hasFailed });
  }, [state, client]);
}

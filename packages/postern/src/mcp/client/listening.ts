import type { Clock, JsonObject } from "@postern/core";
import type { ServerPeer } from "./server-peer.ts";

/** A server that has not confirmed a stream by then does not tell of changes. */
const confirmMs = 20_000;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

export interface ListeningOptions {
  readonly clock: Clock;
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** The stream was opened again, so changes may have been missed. */
  readonly onMissed: () => void;
}

/**
 * Opens a stream of changes at a server of 2026-07-28 (`subscriptions/listen`). Proxies end quiet streams, so it is opened
 * again when it ends. Resolves with what the server is going to tell.
 *
 * @throws Error if the server refuses it
 */
export async function listening(
  peer: ServerPeer,
  notifications: JsonObject,
  { clock, signal, onMissed }: ListeningOptions,
): Promise<JsonObject> {
  const leave = new AbortController();
  const begun = Promise.withResolvers<JsonObject>();
  let isBegun = false;
  let delayMs = firstDelayMs;
  const onBegin = (honored: JsonObject): void => {
    if (isBegun) onMissed();
    isBegun = true;
    delayMs = firstDelayMs;
    begun.resolve(honored);
  };
  const follow = async (): Promise<void> => {
    for (;;) {
      const why: unknown = await peer
        .listen(notifications, AbortSignal.any([signal, leave.signal]), onBegin)
        .catch((error: unknown) => error);
      begun.reject(why ?? new Error("its server ended the stream of changes")); // if it has not begun
      if (!isBegun || signal.aborted) return;
      await pause(clock, delayMs, signal);
      delayMs = Math.min(longestDelayMs, delayMs * 2);
    }
  };
  void follow();
  const cancelWait = clock.in(confirmMs, () =>
    leave.abort(new Error("its server did not confirm the stream of changes")),
  );
  try {
    return await begun.promise;
  } finally {
    cancelWait();
  }
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancelWait = clock.in(ms, resolve, false);
  const leave = (): void => resolve();
  signal.addEventListener("abort", leave);
  await promise;
  signal.removeEventListener("abort", leave);
  cancelWait();
}

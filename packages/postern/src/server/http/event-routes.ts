import { refusals } from "@postern/core";
import { events, type QueryOf } from "@postern/core/contract";
import type { Feed, FeedReader, FeedSubscription, ResetReason } from "../../observe/feed.ts";
import type { FeedEvent, FeedFilter } from "../../observe/feed-event.ts";
import type { Who } from "../credentials.ts";
import { feedEventToWire } from "../wire.ts";
import { problem, retryLater } from "./answers.ts";
import { askerOf } from "./caller.ts";
import { type Route, serve } from "./route.ts";

/** Server-sent events (docs/reference/events.md). */
export const eventRoutes: readonly Route[] = serve(events, {
  follow: async ({ runtime, by, query, headers, signal }) => {
    const after = headers.get("last-event-id") ?? query.after;
    if (runtime.draining) return problem("draining", refusals.draining.message, { headers: retryLater });
    const leave = takePlace(runtime.feed, by.decider.via ?? by.decider.user);
    if (leave === undefined)
      return problem(
        "too_many_readers",
        `${mostOfOne} of these are yours already, and others want to look too; close one.`,
      );
    const stream = await eventStream(runtime.feed, { filter: filterOf(by, query), after }, { signal, leave });
    if (stream === undefined)
      return problem("too_many_readers", "256 readers follow the events already; close one, or read `/v1/audit`.");
    return new Response(stream, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  },
});

/** Acts of operators and accounts are only for readers of the audit log. Others get calls and alarms. */
function filterOf(by: Who, { type, run_id: runId, trace_id: traceId }: QueryOf<typeof events.follow>): FeedFilter {
  return {
    tenant: by.principal.tenant,
    ...askerOf(by),
    also: by.permissions.has("audit:read") ? "everything" : by.kind === "agent" ? "nothing" : "alarms",
    types: type?.split(",").filter((one) => one !== ""),
    runId,
    traceId,
  };
}

/** The most that waits for a reader. A slower reader gets a reset and is disconnected. */
const mostWaitingBytes = 512 * 1024;
const encoder = new TextEncoder();
/** The same list goes to every reader with the same filter, so it is serialized once. */
const serialized = new WeakMap<readonly FeedEvent[], Uint8Array>();

/** One credential cannot take all places. */
const mostOfOne = 32;
const placesTaken = new WeakMap<Feed, Map<string, number>>();

/** Takes a place for a credential. Returns a function that frees it, or undefined if the credential has too many. */
function takePlace(feed: Feed, via: string): (() => void) | undefined {
  const taken = placesTaken.get(feed) ?? new Map<string, number>();
  placesTaken.set(feed, taken);
  const before = taken.get(via) ?? 0;
  if (before >= mostOfOne) return undefined;
  taken.set(via, before + 1);
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    const now = (taken.get(via) ?? 1) - 1;
    if (now === 0) taken.delete(via);
    else taken.set(via, now);
  };
}

async function eventStream(
  feed: Feed,
  { filter, after }: { readonly filter: FeedFilter; readonly after: string | undefined },
  { signal, leave }: { readonly signal: AbortSignal; readonly leave: () => void },
): Promise<ReadableStream<Uint8Array> | undefined> {
  const reader = new StreamReader(leave);
  const subscription = await feed.open(filter, after, reader).catch((error: unknown) => {
    leave();
    throw error;
  });
  if (subscription === undefined) {
    leave();
    return undefined;
  }
  reader.begin(subscription);
  if (signal.aborted) reader.cut();
  else signal.addEventListener("abort", () => reader.cut(), { once: true });
  return reader.stream;
}

class StreamReader implements FeedReader {
  readonly stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #subscription: FeedSubscription | undefined;
  readonly #givePlaceBack: () => void;

  constructor(givePlaceBack: () => void) {
    this.#givePlaceBack = givePlaceBack;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#leave(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: mostWaitingBytes }),
    );
  }

  /** Sends the position first, so that a client can resume even if no event comes before the connection breaks. */
  begin(subscription: FeedSubscription): void {
    this.#subscription = subscription;
    if (this.#controller === undefined) this.#leave();
    else this.#send(encoder.encode(`id: ${subscription.from}\nretry: 1000\n\n`));
  }

  take(events: readonly FeedEvent[]): boolean {
    let bytes = serialized.get(events);
    if (bytes === undefined) {
      bytes = encoder.encode(events.map(frame).join(""));
      serialized.set(events, bytes);
    }
    return this.#send(bytes);
  }

  reset(id: string, reason: ResetReason): void {
    const data = JSON.stringify({ id, type: "reset", summary: resetWords[reason], data: { reason } });
    this.#send(encoder.encode(`event: reset\nid: ${id}\ndata: ${data}\n\n`));
    if (reason === "too_slow") this.cut();
  }

  beat(): void {
    this.#send(encoder.encode(":\n\n"));
  }

  /** The feed ends with Postern. A reader that comes back finds the next one, and continues after its last event. */
  end(): void {
    const data = JSON.stringify({
      type: "end",
      summary: "Postern stops; connect again.",
      data: { reason: "draining" },
    });
    this.#send(encoder.encode(`event: end\ndata: ${data}\n\n`));
    this.cut();
  }

  cut(): void {
    this.#controller?.close();
    this.#leave();
  }

  /** Returns false when too much waits: then the reader is ended. */
  #send(bytes: Uint8Array): boolean {
    if (this.#controller === undefined) return true; // the reader has left
    this.#controller.enqueue(bytes);
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #leave(): void {
    this.#controller = undefined;
    this.#subscription?.[Symbol.dispose]();
    this.#givePlaceBack();
  }
}

const resetWords: Readonly<Record<ResetReason, string>> = {
  too_old: "The events after that one are no longer here; read everything again.",
  too_slow: "You read too slowly; connect again.",
  too_many: "Too many events happened at once; read everything again.",
};

function frame(event: FeedEvent): string {
  return `id: ${event.id}\ndata: ${JSON.stringify(feedEventToWire(event))}\n\n`;
}

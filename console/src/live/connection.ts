/**
 * The connection to `GET /v1/events`: kept open, and resumed after its last id until it is closed. It is read with
 * `fetch`, because an EventSource hides the status: a 401 must end the session.
 */
import type { FeedEventView } from "@postern/core/contract";
import { send } from "../api/index.ts";
import { parseStream } from "./sse.ts";

export type { FeedEventView };

/** `crowded`: the server has no connection left; what is shown is read again every few seconds. */
export type LiveState = "connecting" | "live" | "reconnecting" | "crowded";

/** `alive`: the connection is alive. `ended`: the session has ended. */
export type Message =
  | { readonly kind: "event"; readonly event: FeedEventView }
  | { readonly kind: "reset"; readonly id: string }
  | { readonly kind: "state"; readonly state: LiveState; readonly lastId: string | undefined }
  | { readonly kind: "alive" }
  | { readonly kind: "ended" };

/** Its state when another page had it, or before. */
interface ConnectionState {
  readonly state: LiveState;
  readonly lastId: string | undefined;
}

/** The server sends something every 15 s; a connection that is silent for longer is dead. */
export const silenceMs = 40_000;
const longestWaitMs = 5_000;

export async function keepOpen(
  before: ConnectionState,
  publish: (message: Message) => void,
  closing: AbortSignal,
): Promise<void> {
  const connection = new Connection(before, publish);
  for (let attempt = 0; !closing.aborted; attempt += 1) {
    const began = Date.now();
    const ended = await connection.read(closing);
    if (closing.aborted) return;
    if (ended === 401) {
      publish({ kind: "ended" });
      return;
    }
    connection.ended(ended === 503);
    if (Date.now() - began > 10_000) attempt = 0;
    await wait(Math.min(longestWaitMs, 150 * 2 ** Math.min(attempt, 6)), closing);
  }
}

class Connection {
  #state: LiveState;
  #lastId: string | undefined;
  readonly #publish: (message: Message) => void;

  constructor({ state, lastId }: ConnectionState, publish: (message: Message) => void) {
    this.#state = state;
    this.#lastId = lastId;
    this.#publish = publish;
  }

  /** Reads to the end. Returns the status it ended with; 0 when there was none. */
  async read(closing: AbortSignal): Promise<number> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    closing.addEventListener("abort", abort);
    let silence = setTimeout(abort, silenceMs);
    const onPiece = (): void => {
      clearTimeout(silence);
      silence = setTimeout(abort, silenceMs);
      this.#publish({ kind: "alive" });
    };
    try {
      const lastId = this.#lastId;
      const response = await send("GET", "/v1/events", {
        signal: controller.signal,
        headers: { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) },
      });
      if (!response.ok || response.body === null) return response.status;
      const wasConnected = this.#state !== "connecting";
      this.#become("live");
      // What is shown may be old after a break without an id.
      if (lastId === undefined && wasConnected) this.#publish({ kind: "reset", id: "" });
      await parseStream(response.body, onPiece, (frame) => this.#take(frame));
      return response.status;
    } catch {
      return 0; // the next connection resumes
    } finally {
      clearTimeout(silence);
      closing.removeEventListener("abort", abort);
    }
  }

  /** @param isCrowded the server has no connection left: everything is read again at every try */
  ended(isCrowded: boolean): void {
    this.#become(isCrowded ? "crowded" : "reconnecting");
    if (isCrowded) this.#publish({ kind: "reset", id: "" });
  }

  #become(state: LiveState): void {
    this.#state = state;
    this.#publish({ kind: "state", state, lastId: this.#lastId });
  }

  #take({ event, id, data }: { readonly event: string; readonly id: string; readonly data: string }): void {
    if (id !== "") this.#lastId = id;
    if (event === "end") return; // Postern stops: the connection ends too, and is opened again
    if (event === "reset") this.#publish({ kind: "reset", id });
    else if (data === "") this.#become(this.#state);
    else {
      const sent = JSON.parse(data) as FeedEventView; // as the contract has it
      if (typeof sent.type === "string") this.#publish({ kind: "event", event: sent });
    }
  }
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

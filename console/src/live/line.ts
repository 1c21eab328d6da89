/**
 * The connection to `GET /v1/events`: kept open, and resumed after its last id until it is closed. It is read with
 * `fetch`, because an EventSource hides the status: a 401 must end the session.
 */
import type { FeedEventView } from "../../../src/server/contract/events.ts";
import { send } from "../api/index.ts";
import { parseStream } from "./sse.ts";

export type { FeedEventView };

/** `crowded`: the server has no connection left; what is shown is read again every few seconds. */
export type LiveState = "connecting" | "live" | "reconnecting" | "crowded";

/** `breath`: the connection is alive. `ended`: the session has ended. */
export type Word =
  | { readonly kind: "event"; readonly event: FeedEventView }
  | { readonly kind: "reset"; readonly id: string }
  | { readonly kind: "state"; readonly state: LiveState; readonly lastId: string | undefined }
  | { readonly kind: "breath" }
  | { readonly kind: "ended" };

/** Its state when another page had it, or before. */
export interface LineBefore {
  readonly state: LiveState;
  readonly lastId: string | undefined;
}

/** The server sends something every 15 s; a connection that is silent for longer is dead. */
export const silenceMs = 40_000;
const longestWaitMs = 5_000;

export async function keepOpen(before: LineBefore, tell: (word: Word) => void, closing: AbortSignal): Promise<void> {
  const line = new Line(before, tell);
  for (let attempt = 0; !closing.aborted; attempt += 1) {
    const began = Date.now();
    const ended = await line.read(closing);
    if (closing.aborted) return;
    if (ended === 401) {
      tell({ kind: "ended" });
      return;
    }
    line.broke(ended === 503);
    if (Date.now() - began > 10_000) attempt = 0;
    await wait(Math.min(longestWaitMs, 150 * 2 ** Math.min(attempt, 6)), closing);
  }
}

class Line {
  #state: LiveState;
  #lastId: string | undefined;
  readonly #tell: (word: Word) => void;

  constructor({ state, lastId }: LineBefore, tell: (word: Word) => void) {
    this.#state = state;
    this.#lastId = lastId;
    this.#tell = tell;
  }

  /** Reads to the end. Returns the status it ended with; 0 when there was none. */
  async read(closing: AbortSignal): Promise<number> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    closing.addEventListener("abort", abort);
    let silence = setTimeout(abort, silenceMs);
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(abort, silenceMs);
      this.#tell({ kind: "breath" });
    };
    try {
      const lastId = this.#lastId;
      const response = await send("GET", "/v1/events", {
        signal: controller.signal,
        headers: { accept: "text/event-stream", ...(lastId !== undefined && { "last-event-id": lastId }) },
      });
      if (!response.ok || response.body === null) return response.status;
      const wasThere = this.#state !== "connecting";
      this.#become("live");
      // What is shown may be old after a break without an id.
      if (lastId === undefined && wasThere) this.#tell({ kind: "reset", id: "" });
      await parseStream(response.body, heard, (frame) => this.#take(frame));
      return response.status;
    } catch {
      return 0; // the next connection resumes
    } finally {
      clearTimeout(silence);
      closing.removeEventListener("abort", abort);
    }
  }

  /** @param isCrowded the server has no connection left: everything is read again at every try */
  broke(isCrowded: boolean): void {
    this.#become(isCrowded ? "crowded" : "reconnecting");
    if (isCrowded) this.#tell({ kind: "reset", id: "" });
  }

  #become(state: LiveState): void {
    this.#state = state;
    this.#tell({ kind: "state", state, lastId: this.#lastId });
  }

  #take({ event, id, data }: { readonly event: string; readonly id: string; readonly data: string }): void {
    if (id !== "") this.#lastId = id;
    if (event === "reset") this.#tell({ kind: "reset", id });
    else if (data === "") this.#become(this.#state);
    else {
      const sent = JSON.parse(data) as FeedEventView; // as the contract has it
      if (typeof sent.type === "string") this.#tell({ kind: "event", event: sent });
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

import type { events, FeedEventView, PosternClient, SentTo } from "@postern/core/contract";
import { ClientProblem } from "./client-problem.ts";

/** `live`: the connection is open. `lost`: it broke and is opened again. `reset`: read everything again. */
export type FeedMessage =
  | { readonly kind: "event"; readonly event: FeedEventView }
  | { readonly kind: "live" | "lost" | "reset" };

export type FollowQuery = Omit<SentTo<typeof events.follow>, "after">;

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Waits between two tries. */
  readonly wait: (ms: number) => Promise<void>;
}

const firstWaitMs = 250;
const longestWaitMs = 5_000;
/** A line that is longer than this is none of ours. */
const mostCharacters = 4 * 1024 * 1024;

/**
 * Follows the live feed until `signal` says so, over restarts of the server: after each it resumes.
 *
 * @throws ClientProblem when the server refuses: then no later try would help
 */
export async function* followEvents(
  { follow }: PosternClient["events"],
  where: FollowQuery,
  options: FollowOptions,
): AsyncGenerator<FeedMessage> {
  const { signal, wait } = options;
  let after = "";
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      for await (const frame of framesOf(follow({ ...where, ...(after !== "" && { after }) }, signal))) {
        tries = 0;
        if (frame.id !== "") after = frame.id;
        const message = messageOf(frame);
        if (message !== undefined) yield message;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ClientProblem && error.status !== 0 && error.status !== 503) throw error;
    }
    if (signal.aborted) return;
    yield { kind: "lost" };
    await wait(Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(tries, 5)));
  }
}

interface EventFrame {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

async function* framesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<EventFrame> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of bytes) {
    const texts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = texts.pop() ?? "";
    if (rest.length > mostCharacters) throw notEvents();
    for (const text of texts) yield frameOf(text);
  }
}

function notEvents(): ClientProblem {
  return new ClientProblem({ status: 502, code: "not_postern", message: "The server sends no events." });
}

function frameOf(text: string): EventFrame {
  const frame = { id: "", event: "", data: "" };
  for (const line of text.split("\n")) {
    const [, field, value = ""] = /^(id|event|data): ?(.*)$/s.exec(line) ?? [];
    if (field === "id" || field === "event" || field === "data") frame[field] = value;
  }
  return frame;
}

function messageOf({ id, event, data }: EventFrame): FeedMessage | undefined {
  if (event === "reset") return { kind: "reset" };
  if (event === "end") return undefined; // the stream ends too, and is opened again
  if (data !== "") return { kind: "event", event: JSON.parse(data) as FeedEventView }; // the server's event
  return id === "" ? undefined : { kind: "live" };
}

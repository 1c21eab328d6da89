import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

/** Not imported: an import of `node:http` reads all that it exports, and `fetch` is loaded with that. */
const { request: httpRequest } = process.getBuiltinModule("node:http");

export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/** What a client reads of a response. */
export interface SentAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly body: AsyncIterable<Uint8Array> | null;
  text(): Promise<string>;
}

/**
 * Sends a request, and waits for its answer as long as it takes. `fetch` gives up after 300 s, and loads more code at its
 * first use than a command has.
 */
export async function patientSend(sent: SentRequest): Promise<SentAnswer> {
  const incoming = await incomingOf(sent);
  const { statusCode: status = 500 } = incoming;
  return { status, ok: status >= 200 && status < 300, body: incoming, text: () => text(incoming) };
}

/** The beginning of the answer. */
export function incomingOf({ url, body, ...options }: SentRequest): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = url.startsWith("https:") ? process.getBuiltinModule("node:https").request : httpRequest;
  const outgoing = request(url, options, resolve);
  outgoing.on("error", reject);
  outgoing.end(body);
  return promise;
}

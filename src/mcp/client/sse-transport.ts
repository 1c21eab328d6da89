import { SSEClientTransport } from "@modelcontextprotocol/client";
import { boundedBody, tellingEnd } from "./bounded-body.ts";
import { currentExchange } from "./exchange.ts";
import { httpFetch } from "./http-client.ts";
import { heardEvents } from "./http-messages.ts";
import { PendingRequests } from "./pending-requests.ts";
import type { ServerAddress } from "./server-config.ts";
import type { AwaitedRequests } from "./server-wire.ts";
import { pauseOf, retryAfterOf, type WatchedFetchParts } from "./watched-fetch.ts";

/** What a server says to a message that it did not take. */
const mostRefusalBytes = 64 * 1024;
/** What came last is still on its way through the parser. */
const settleMs = 100;

/**
 * HTTP+SSE, the transport of revision 2024-11-05: one stream carries all answers, and each message is a POST of its own.
 *
 * The SDK opens a new stream when the old one ends. That stream would belong to another session, and answers to calls under
 * way would be lost without a word. Here the end of the stream is the end of the connection.
 */
export function sseTransport(
  { url, headers }: Extract<ServerAddress, { readonly kind: "http" }>,
  parts: WatchedFetchParts,
): SSEClientTransport {
  const pending = new PendingRequests();
  const asked: AwaitedRequests = {
    only: () => pending.only(),
    isAwaited: (id) => pending.isAwaited(id),
    exchange: (id) => pending.exchange(id),
    answered: (id) => pending.forget(id),
  };
  let hasStream = false;
  const listen = async (input: string | URL | Request, init: RequestInit | undefined): Promise<Response> => {
    if (hasStream) throw new Error("the stream of its answers has ended");
    const response = await httpFetch(input, init);
    const { body, status, statusText } = response;
    if (body === null || !response.ok) return response;
    hasStream = true;
    const bounded = boundedBody(body, {
      limitBytes: parts.limitBytes,
      isStream: true,
      request: asked.only,
      pause: () => pauseOf(parts),
      onTooLarge: () => {
        const exchange = pending.exchange(pending.only() ?? "");
        if (exchange !== undefined) exchange.tooLarge = true;
      },
      read: (events) => heardEvents(events, { wire: parts.wire, asked, exchange: undefined }),
    });
    const close = (): void => void transport.close().catch(ignored);
    const told = tellingEnd(bounded, () => void parts.clock.in(settleMs, close));
    return new Response(told, { status, statusText, headers: response.headers });
  };
  const transport = new SSEClientTransport(url, {
    requestInit: { headers: { ...headers } },
    fetch: (input, init) => (init?.method === "POST" ? post(input, init, parts) : listen(input, init)),
  });
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    pending.sending(message);
    try {
      await send(message);
    } catch (error) {
      if ("method" in message && "id" in message) pending.forget(message.id);
      throw error;
    }
  };
  return transport;
}

/** @throws Error with the status, which the SDK would leave out of its own */
async function post(
  input: string | URL | Request,
  init: RequestInit,
  { clock }: Pick<WatchedFetchParts, "clock">,
): Promise<Response> {
  const exchange = currentExchange();
  if (exchange !== undefined) exchange.sent = true;
  const response = await httpFetch(input, init);
  const { status } = response;
  if (status >= 300 && status < 400) return response; // where a redirect leads, the SDK asks the response itself
  const text = await beginningOf(response);
  if (response.ok) return new Response(null, { status: 202 }); // the answer comes on the stream
  if (exchange !== undefined) exchange.resetsAt = retryAfterOf(response, clock);
  throw Object.assign(new Error(`HTTP ${status}`), { data: { status, text } });
}

async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const bound = { limitBytes: mostRefusalBytes, isStream: false, request: () => undefined, onTooLarge: ignored };
  return new Response(boundedBody(body, bound)).text().catch(() => "");
}

function ignored(): void {}

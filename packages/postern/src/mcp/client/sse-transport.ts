import { SSEClientTransport } from "@modelcontextprotocol/client";
import { boundedBody, withEndCallback } from "./bounded-body.ts";
import {
  type BoundedFetchOptions,
  httpFetch,
  pauseOf,
  readEvents,
  refusalIn,
  requestIn,
  retryAfterOf,
} from "./http-fetch.ts";
import type { ServerAddress } from "./server-address.ts";

/** The most that is read of a refusal. */
const mostRefusalBytes = 64 * 1024;
/** The SDK's parser still has the last bytes when the stream ends. */
const settleMs = 100;

/**
 * HTTP+SSE, the transport of revision 2024-11-05: one stream carries all answers, and each message is a POST of its own.
 *
 * The SDK opens a new stream when the old one ends. That stream would belong to another session, and answers to open calls
 * would be lost. Here the connection ends with its stream.
 */
export function sseTransport(
  { url, headers, authorize = (send) => send }: Extract<ServerAddress, { readonly kind: "http" }>,
  options: BoundedFetchOptions,
): SSEClientTransport {
  const { pending } = options;
  let hasStream = false;
  const listen = async (input: string | URL | Request, init: RequestInit | undefined): Promise<Response> => {
    if (hasStream) throw new Error("the stream of its answers has ended");
    const response = await httpFetch(input, init);
    const { body, status, statusText } = response;
    if (body === null || !response.ok) return response;
    hasStream = true;
    const bounded = boundedBody(body, {
      limitBytes: options.limitBytes,
      isStream: true,
      request: pending.only,
      pause: () => pauseOf(options),
      onTooLarge: () => {
        const exchange = pending.exchange(pending.only() ?? "");
        if (exchange !== undefined) exchange.tooLarge = true;
      },
      read: (events) =>
        readEvents(events, { incoming: options.incoming, pending, awaited: pending, exchange: undefined }),
    });
    const close = (): void => void transport.close().catch(ignored);
    const followed = withEndCallback(bounded, () => void options.clock.in(settleMs, close));
    return new Response(followed, { status, statusText, headers: response.headers });
  };
  const transport = new SSEClientTransport(url, {
    requestInit: { headers: { ...headers } },
    fetch: authorize(
      (input, init) => (init?.method === "POST" ? post(input, init, options) : listen(input, init)),
      url.origin,
    ),
  });
  return transport;
}

/** @throws Error with the status, which the SDK would leave out of its own */
async function post(
  input: string | URL | Request,
  init: RequestInit,
  { clock, pending }: BoundedFetchOptions,
): Promise<Response> {
  const id = requestIn(init.body)?.id;
  const exchange = id === undefined ? undefined : pending.exchange(id);
  exchange?.sending();
  const response = await httpFetch(input, init);
  const { status } = response;
  if (status >= 300 && status < 400) return response; // the SDK reads the redirect itself
  const text = await beginningOf(response);
  if (response.ok) return new Response(null, { status: 202 }); // the answer comes on the stream
  if (exchange !== undefined) {
    exchange.resetsAt = retryAfterOf(response, clock);
    exchange.refused = refusalIn(text, status, undefined);
  }
  throw Object.assign(new Error(`HTTP ${status}`), { data: { status, text } });
}

async function beginningOf({ body }: Response): Promise<string> {
  if (body === null) return "";
  const bound = { limitBytes: mostRefusalBytes, isStream: false, request: () => undefined, onTooLarge: ignored };
  return new Response(boundedBody(body, bound)).text().catch(() => "");
}

function ignored(): void {}

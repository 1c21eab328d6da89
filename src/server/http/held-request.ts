/**
 * By the body of its answer. In Node a request follows its `signal` by a weak reference (nodejs/undici#3644): of one that
 * nobody holds, what is still being answered could not be ended any more.
 */
const requests = new WeakMap<ReadableStream, Request>();

/** Asks, and holds the request until its answer was read: whoever waits at its signal is told, whatever is collected meanwhile. */
export async function asked(request: Request, ask: (request: Request) => Promise<Response>): Promise<Response> {
  const response = await ask(request);
  if (response.body !== null) requests.set(response.body, request);
  return response;
}

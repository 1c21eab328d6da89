/**
 * Requests by the body of their answer. Node's request follows its `signal` by a weak reference (nodejs/undici#3644): after
 * a garbage collection, an answer that is still being read could no longer be aborted.
 */
const requests = new WeakMap<ReadableStream, Request>();

/** Sends the request, and keeps it until its answer was read, so that its signal works that long. */
export async function asked(request: Request, ask: (request: Request) => Promise<Response>): Promise<Response> {
  const response = await ask(request);
  if (response.body !== null) requests.set(response.body, request);
  return response;
}

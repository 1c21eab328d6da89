import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Carries a request as `fetch` does, and waits for its answer as long as it takes: `fetch` gives up after 300 s. */
export async function patientSend(request: Request): Promise<Response> {
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const send = request.url.startsWith("https:") ? httpsRequest : httpRequest;
  const { method, signal } = request;
  const headers = {
    ...Object.fromEntries(request.headers),
    ...(body !== undefined && { "content-length": body.length }),
  };
  const outgoing = send(request.url, { method, headers, signal }, (incoming) => resolve(responseOf(incoming)));
  outgoing.on("error", reject);
  outgoing.end(body);
  return promise;
}

function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 500, headersDistinct } = incoming;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = withoutBody.has(status) ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array<ArrayBuffer>>); // the chunks of a socket
  if (body === null) incoming.resume();
  return new Response(body, { status, headers });
}

import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { incomingOf } from "./patient-send.ts";

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** As `fetch`, without a limit of time. */
export async function patientFetch(to: string | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(to, init);
  const { url, method, signal } = request;
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
  const incoming = await incomingOf({
    ...{ url, method, signal, headers: Object.fromEntries(request.headers) },
    ...(body !== undefined && { body }),
  });
  const { statusCode: status = 500, headersDistinct } = incoming;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const stream = withoutBody.has(status) ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array<ArrayBuffer>>); // the chunks of a socket
  if (stream === null) incoming.resume();
  return new Response(stream, { status, headers });
}

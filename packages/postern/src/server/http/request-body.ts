import { type Json, parseStrict } from "@postern/core";
import { problem } from "./answers.ts";

export type RequestBody<Value> = { readonly value: Value } | { readonly refused: Response };

/**
 * A JSON body of at most `maxBytes`. What is too large is refused as soon as that is known: nothing beyond the limit is
 * kept, and the rest is left to the server to throw away. No body at all reads as `{}`.
 */
export async function readJson(request: Request, maxBytes: number): Promise<RequestBody<Json>> {
  const type = request.headers.get("content-type");
  if (type !== null && !isJson(type)) return { refused: wrongType(type) };
  const text = await readText(request, maxBytes);
  if ("refused" in text) return text;
  if (text.value === "") return { value: {} };
  if (type === null) return { refused: wrongType("of no type") };
  const parsed = parseStrict(text.value);
  if ("value" in parsed) return parsed;
  const details = parsed.position === undefined ? undefined : { details: { position: parsed.position } };
  return { refused: problem("json_invalid", parsed.problem, details) };
}

/** A body as text: UTF-8 and nothing else. */
export async function readText(request: Request, maxBytes: number): Promise<RequestBody<string>> {
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > maxBytes) return { refused: tooLarge(maxBytes) };
  const bytes = await readBytes(request, maxBytes);
  if (bytes === undefined) return { refused: tooLarge(maxBytes) };
  try {
    return { value: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { refused: problem("json_invalid", "The body is not UTF-8.") }; // the decoder says no more than that
  }
}

/**
 * What says how long it is comes whole: the server lets no more through. As a stream it would be three objects of the web's,
 * which outlive every collection of young garbage.
 */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (request.headers.has("content-length")) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    return bytes.byteLength > maxBytes ? undefined : bytes;
  }
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks, length);
    length += value.byteLength;
    // Not cancelled: that would close the connection before the answer is sent.
    if (length > maxBytes) return undefined;
    chunks.push(value);
  }
}

export function isJson(contentType: string | null): boolean {
  return /^application\/json *(?:; *charset="?utf-8"?)?$/i.test(contentType ?? "");
}

export function wrongType(type: string): Response {
  return problem("content_type_refused", `The body is \`${type.slice(0, 200)}\`; send it as \`application/json\`.`);
}

export function tooLarge(maxBytes: number): Response {
  // Without `Connection: close`: the server then drains a while, so that a client that is still sending hears the answer.
  return problem(
    "body_too_large",
    `The body is larger than ${maxBytes} bytes; keep large data as an artifact and name it.`,
  );
}

import { messageOf, RuntimeFault } from "@postern/core";
import type { ArtifactMeta, ArtifactStream, ByteRange } from "../results/artifact-store.ts";
import { collected } from "../results/streams.ts";
import type { WorkOrder } from "./workers.ts";

/** The gateway's artifacts over HTTP, with the token of one order. */
export class RemoteArtifacts {
  readonly #place: WorkOrder["artifacts"];
  readonly #signal: AbortSignal;

  constructor(place: WorkOrder["artifacts"], signal: AbortSignal) {
    this.#place = place;
    this.#signal = signal;
  }

  async meta(digest: string): Promise<ArtifactMeta> {
    const { meta, body } = await this.#get(digest);
    await body.cancel();
    return meta;
  }

  async open(digest: string): Promise<{ readonly meta: ArtifactMeta; readonly bytes: Uint8Array }> {
    const { meta, body } = await this.#get(digest);
    return { meta, bytes: await collected(body) };
  }

  /** The whole artifact travels, also for a range of it. */
  async openStream(digest: string, range: ByteRange = {}): Promise<ArtifactStream> {
    const { meta, body } = await this.#get(digest);
    return { meta, chunks: within(body, range) };
  }

  /** Returns the digest of the kept text. */
  async keepAnswer(text: string): Promise<string> {
    const response = await this.#send("/v1/artifacts", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: text,
    });
    if (!response.ok)
      throw new RuntimeFault("artifact_unavailable", `The gateway answered ${response.status} to a large result.`);
    const { digest } = (await response.json()) as { readonly digest: string }; // the contract of the route
    return digest;
  }

  async #get(digest: string): Promise<{ readonly meta: ArtifactMeta; readonly body: ReadableStream<Uint8Array> }> {
    const response = await this.#send(`/v1/artifacts/${digest}`, {});
    const { body, headers } = response;
    if (!response.ok || body === null) {
      await body?.cancel();
      throw new RuntimeFault(
        "artifact_unavailable",
        `The gateway answered ${response.status} for the artifact \`${digest}\`.`,
      );
    }
    const mediaType = headers.get("content-type") ?? "application/octet-stream";
    return { meta: { digest, mediaType, bytes: Number(headers.get("content-length") ?? 0) }, body };
  }

  async #send(path: string, request: RequestInit): Promise<Response> {
    if (this.#place === undefined)
      throw new RuntimeFault("artifact_unavailable", "The gateway says no address; set `workers.gateway_url` there.");
    const { url, token } = this.#place;
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    try {
      return await fetch(`${url}${path}`, { ...request, headers, signal: this.#signal, redirect: "error" });
    } catch (error) {
      throw new RuntimeFault(
        "artifact_unavailable",
        `The gateway at \`${url}\` (\`workers.gateway_url\`) cannot be reached: ${messageOf(error)}.`,
        { cause: error },
      );
    }
  }
}

async function* within(
  body: AsyncIterable<Uint8Array>,
  { start = 0, end = Number.POSITIVE_INFINITY }: ByteRange,
): AsyncGenerator<Uint8Array> {
  let at = 0;
  for await (const chunk of body) {
    const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end - at));
    at += chunk.byteLength;
    if (piece.byteLength > 0) yield piece;
    if (at >= end) return;
  }
}

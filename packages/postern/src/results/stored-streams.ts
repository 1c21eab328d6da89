import type { Principal } from "@postern/core";
import type { Session } from "../call/session.ts";
import type { Redactor } from "../secrets/secret-store.ts";
import type { ArtifactStore } from "./artifact-store.ts";
import type { Judgement } from "./judgement.ts";
import { pinOnce } from "./keep.ts";
import { noArtifacts } from "./own-artifacts.ts";
import { briefOf, LostAnswer, tooManyBytes, withBrief } from "./raw-result.ts";
import { collected, piecesOf, SecretInStream, StreamTooLong, vetted } from "./streams.ts";

/** Larger bytes in memory are kept piece by piece too, because base64 would need several times their size. */
const fewBytes = 1024 * 1024;

/** Enough for a dump or a video of a gigabyte, and a bound for an endless stream. */
export const mostArtifactBytes: number = 2 * 2 ** 30;

export interface StreamOrder {
  readonly owner: Principal;
  /** Gets every pin, and its close removes them. */
  readonly session: Session;
  readonly redactor: Redactor;
  readonly artifacts: ArtifactStore;
  /** Largest artifact, in bytes. */
  readonly artifactBytes: number;
  /** Without a store, a stream becomes inline bytes, up to this many. */
  readonly answerBytes: number;
  /** What is stored with each artifact before its bytes are examined. */
  readonly judgement: Judgement;
  /** Gets the digest of each artifact. */
  readonly stored: Set<string>;
  /** Aborted at the end of the call: reading stops. */
  readonly signal: () => AbortSignal;
}

type StreamBlock = Readonly<Record<string, unknown>>;

/** Whether the answer, or a block of it, is a stream or has many bytes. */
export function holdsStream(answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  if (isStream(answer)) return true;
  const content: unknown = Reflect.get(answer, "content");
  return Array.isArray(content) && content.some((block) => isStream(streamIn(block)));
}

/** Keeps every stream of the answer as an artifact that its block names. Throws the error of a stream: the tool failed. */
export async function withStoredStreams(answer: unknown, order: StreamOrder): Promise<unknown> {
  try {
    if (isStream(answer)) return { content: [await stored({ type: "file" }, answer, order)] };
    const { content, ...rest } = answer as { readonly content: readonly StreamBlock[] }; // `holdsStream` has checked it
    const blocks: unknown[] = [];
    for (const block of content) {
      const stream = streamIn(block);
      blocks.push(isStream(stream) ? await stored(block, stream, order) : block);
    }
    const brief = briefOf(answer as object);
    const made = { ...rest, content: blocks };
    return brief === undefined ? made : withBrief(made, brief);
  } catch (error) {
    if (!(error instanceof StreamTooLong)) throw error;
    const setting = order.artifacts === noArtifacts ? "results.max_bytes" : "results.max_artifact_bytes";
    return new LostAnswer(`a stream gave ${tooManyBytes(limitOf(order), setting)}`);
  }
}

async function stored(block: StreamBlock, stream: ByteStream, order: StreamOrder): Promise<StreamBlock> {
  const { data: _data, blob: _blob, ...rest } = block;
  const chunks = vetted(untilAborted(order.signal(), chunksOf(stream)), limitOf(order), order.redactor);
  const { mediaType = rest["mimeType"] ?? rest["media_type"], type } = rest;
  const named = typeof mediaType === "string" && mediaType !== "" ? mediaType : "application/octet-stream";
  try {
    if (order.artifacts === noArtifacts) return { ...rest, mediaType: named, data: await collected(chunks) };
    const { digest } = await order.artifacts.putStream(chunks, named, order.owner, order.judgement);
    order.stored.add(digest);
    await pinOnce(digest, order.session, order.artifacts);
    return { ...rest, mediaType: named, artifact: digest };
  } catch (error) {
    if (!(error instanceof SecretInStream)) throw error;
    return { type: "text", text: `[redacted: this ${String(type)} held a secret]` };
  }
}

function limitOf({ artifacts, artifactBytes, answerBytes }: StreamOrder): number {
  return artifacts === noArtifacts ? Math.floor((answerBytes / 4) * 3) : artifactBytes;
}

type ByteStream = AsyncIterable<unknown> | Blob | Uint8Array;

function isStream(value: unknown): value is ByteStream {
  if (value instanceof Uint8Array) return value.byteLength > fewBytes;
  return value instanceof Blob || (typeof value === "object" && value !== null && Symbol.asyncIterator in value);
}

function streamIn(block: unknown): unknown {
  return typeof block === "object" && block !== null
    ? (Reflect.get(block, "data") ?? Reflect.get(block, "blob"))
    : undefined;
}

function chunksOf(stream: ByteStream): AsyncIterable<unknown> {
  if (stream instanceof Uint8Array) return piecesOf(stream);
  return stream instanceof Blob ? stream.stream() : stream;
}

/** Ends with the call, also while it waits for the next piece: a stream may never send one. */
async function* untilAborted(signal: AbortSignal, chunks: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
  const { next, stop } = sourceOf(chunks);
  let giveUp = (_reason: unknown): void => {};
  const onAbort = (): void => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await new Promise<IteratorResult<unknown>>((resolve, reject) => {
        giveUp = reject;
        next().then(resolve, reject);
      });
      if (done === true) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop();
  }
}

/** A web stream is cancelled at once. A generator ends when it gives its next piece. */
function sourceOf(chunks: AsyncIterable<unknown>): {
  readonly next: () => Promise<IteratorResult<unknown>>;
  readonly stop: () => void;
} {
  if (chunks instanceof ReadableStream) {
    const reader = chunks.getReader();
    return {
      next: async () => {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done, value };
      },
      stop: () => void reader.cancel().catch(ignored),
    };
  }
  const iterator = chunks[Symbol.asyncIterator]();
  return { next: async () => iterator.next(), stop: () => void iterator.return?.().catch(ignored) };
}

/** The call has ended already, with its own answer or with a fault. */
function ignored(): void {}

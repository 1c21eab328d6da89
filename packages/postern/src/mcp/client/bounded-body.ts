import type { JsonObject } from "@postern/core";
import { tooManyBytes } from "../../results/raw-result.ts";

export interface BodyBound {
  readonly limitBytes: number;
  /** In a stream of events, each event has a limit of its own. Any other body is one message. */
  readonly isStream: boolean;
  /** The request that the body answers. Called only if the answer is too large. */
  readonly request: () => number | string | undefined;
  readonly onTooLarge: () => void;
  /** Called with whole messages: events, or all of a body that is no stream. Returns what is passed on. */
  readonly read?: (messages: Buffer) => Promise<Buffer>;
  /** Returns a promise to wait for before more is read, if the server sent too much that was not requested. */
  readonly pause?: () => Promise<void> | undefined;
}

/** Events are divided by an empty line. */
const divisions = ["\n\n", "\r\n\r\n", "\r\r"];

/**
 * What a server sends over HTTP, with at most `limitBytes` a message. Events are passed on whole, because the SDK's parser
 * would read all of an unfinished event again for each piece that arrives.
 */
export function boundedBody(body: ReadableStream<Uint8Array>, bound: BodyBound): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const held = new HeldBytes(bound);
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      for (;;) {
        const pause = bound.pause?.();
        if (pause !== undefined) await pause;
        const { value, done } = await reader.read();
        const ready = done ? held.rest() : held.take(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
        if (ready === "too large") return giveUp(controller, reader, bound);
        const passed = ready === undefined ? undefined : ((await bound.read?.(ready)) ?? ready);
        if (passed !== undefined && passed.length > 0) controller.enqueue(passed);
        if (done) controller.close();
        if (done || (passed !== undefined && passed.length > 0)) return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The same body. `onEnd` is called once when the body ends, in success or failure. */
export function withEndCallback(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { value, done } = await reader.read();
        if (done) {
          controller.close();
          onEnd();
        } else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        onEnd();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The error answer that the SDK's client reads instead of an answer that was too large. */
export function tooLargeError(id: number | string, limitBytes: number): JsonObject {
  return { jsonrpc: "2.0", id, error: { code: -32_603, message: `its answer has ${tooManyBytes(limitBytes)}` } };
}

class AnswerTooLarge extends Error {}

function giveUp(
  controller: ReadableStreamDefaultController<Uint8Array>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { limitBytes, isStream, request, onTooLarge }: BodyBound,
): void {
  onTooLarge();
  const message = `its answer has ${tooManyBytes(limitBytes)}`;
  const id = isStream ? request() : undefined;
  if (id === undefined) {
    controller.error(new AnswerTooLarge(message));
  } else {
    // An error answer ends the request, so the SDK neither waits nor fetches the stream again.
    controller.enqueue(Buffer.from(`data: ${JSON.stringify(tooLargeError(id, limitBytes))}\n\n`));
    controller.close();
  }
  reader.cancel(new AnswerTooLarge(message)).catch(() => undefined); // a broken reader needs no cancelling
}

/** The bytes of a message that is not complete yet. */
class HeldBytes {
  readonly #bound: BodyBound;
  #parts: Buffer[] = [];
  #bytes = 0;
  #last: Buffer = Buffer.alloc(0);

  constructor(bound: BodyBound) {
    this.#bound = bound;
  }

  /** Returns the bytes that can be passed on now. */
  take(chunk: Buffer): Buffer | "too large" | undefined {
    const { isStream, limitBytes } = this.#bound;
    const end = isStream ? this.#endIn(chunk) : 0;
    if (this.#bytes + (end === 0 ? chunk.length : 0) > limitBytes) return "too large";
    this.#keep(chunk.subarray(0, end === 0 ? chunk.length : end));
    if (end === 0) return undefined;
    const ready = this.#message();
    this.#keep(chunk.subarray(end));
    return ready;
  }

  rest(): Buffer | undefined {
    return this.#bytes === 0 && (this.#bound.isStream || this.#bound.read === undefined) ? undefined : this.#message();
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#bytes += part.length;
  }

  #message(): Buffer {
    const message = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return message;
  }

  /** Returns the place behind the last division that ends in this chunk, or 0. It may have begun in the chunk before. */
  #endIn(chunk: Buffer): number {
    const before = this.#last;
    const joined = Buffer.concat([before, chunk]);
    this.#last = Buffer.from(joined.subarray(-3));
    const ends = divisions.map((division) => {
      const at = joined.lastIndexOf(division);
      return at < 0 ? 0 : at + division.length - before.length;
    });
    return Math.max(0, ...ends);
  }
}

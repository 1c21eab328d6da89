import { tooManyBytes } from "../../results/raw-result.ts";
import { AnswerTooLarge, tooLargeError } from "./too-large.ts";

export interface BodyBound {
  readonly limitBytes: number;
  /** A stream of events: each has a limit of its own. Else all of it is one message. */
  readonly isStream: boolean;
  /** Whose request it answers, when it is a request's: asked only when its answer is too large. */
  readonly request: () => number | string | undefined;
  readonly onTooLarge: () => void;
  /** Whole messages as they are passed on: all of a body that is no stream, or events. */
  readonly read?: (messages: Buffer) => Promise<Buffer>;
  /** Waits before more is read, when the server sent too much that nobody asked for. */
  readonly pause?: () => Promise<void> | undefined;
}

/** Events are divided by an empty line. */
const divisions = ["\n\n", "\r\n\r\n", "\r\r"];

/**
 * What a server sends over HTTP, no more of it than `limitBytes` a message. Events are passed on whole: the SDK's parser
 * looks through all of an unfinished one for each piece that arrives.
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

/** The same body; `onEnd` is told once when nothing more comes of it, well or not. */
export function tellingEnd(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
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

function giveUp(
  controller: ReadableStreamDefaultController<Uint8Array>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { limitBytes, isStream, request, onTooLarge }: BodyBound,
): void {
  onTooLarge();
  const said = `its answer has ${tooManyBytes(limitBytes)}`;
  const id = isStream ? request() : undefined;
  if (id === undefined) {
    controller.error(new AnswerTooLarge(said));
  } else {
    // An answer, so that the SDK neither waits for one nor fetches the stream again.
    controller.enqueue(Buffer.from(`data: ${JSON.stringify(tooLargeError(id, limitBytes))}\n\n`));
    controller.close();
  }
  reader.cancel(new AnswerTooLarge(said)).catch(() => undefined); // what broke already needs no end
}

/** What has come of a message that is not whole yet. */
class HeldBytes {
  readonly #bound: BodyBound;
  #parts: Buffer[] = [];
  #bytes = 0;
  #last: Buffer = Buffer.alloc(0);

  constructor(bound: BodyBound) {
    this.#bound = bound;
  }

  /** What can be passed on now. */
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

  /** Behind the last division that ends in this chunk; it may have begun in the one before. 0: there is none. */
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

import type { Clock, JsonObject } from "@postern/core";
import type { HttpExchange } from "../protocol/http-exchange.ts";
import type { Send } from "../protocol/peer.ts";

/** The forms of an answer that a client takes. The protocol wants both named; many clients name one, any or none. */
export interface AcceptedForms {
  readonly json: boolean;
  readonly stream: boolean;
  /** `text/event-stream` is named, not only covered by a wildcard. */
  readonly namesStream: boolean;
}

/** Returns undefined if the client takes neither form. */
export function acceptedBy({ header }: Pick<HttpExchange, "header">): AcceptedForms | undefined {
  const accept = header("accept");
  if (accept === usual) return all;
  const types = (accept ?? "*/*").split(",").map((type) => type.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const takes = (...names: readonly string[]): boolean => names.some((name) => types.includes(name));
  const json = takes("application/json", "application/*", "*/*");
  const stream = takes("text/event-stream", "text/*", "*/*");
  return json || stream ? { json, stream, namesStream: takes("text/event-stream") } : undefined;
}

const usual = "application/json, text/event-stream";
const all: AcceptedForms = { json: true, stream: true, namesStream: true };

export function answerJson(
  exchange: HttpExchange,
  status: number,
  message: JsonObject,
  headers?: Readonly<Record<string, string>>,
): void {
  exchange.answer(status, { "content-type": "application/json", ...headers }, JSON.stringify(message));
}

const keepAliveMs = 15_000;

/** Messages as server-sent events. A comment is sent now and then, so that nothing between takes the silence for an end. */
export class EventStream {
  readonly #exchange: HttpExchange;
  readonly #clock: Clock;
  #cancelWait: () => void;

  constructor(exchange: HttpExchange, clock: Clock, headers?: Readonly<Record<string, string>>) {
    this.#exchange = exchange;
    this.#clock = clock;
    exchange.begin({
      ...{ "content-type": "text/event-stream", "x-accel-buffering": "no" },
      ...headers,
    });
    this.#cancelWait = this.#later();
    exchange.onGone(() => this.#cancelWait());
  }

  send(message: JsonObject): void {
    this.#exchange.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** @param why a comment for who reads the stream: the protocol has no message that says it */
  end(why?: string): void {
    this.#cancelWait();
    if (why !== undefined) this.#exchange.write(`: ${why}\n\n`);
    this.#exchange.end();
  }

  #later(): () => void {
    return this.#clock.in(keepAliveMs, () => {
      this.#exchange.write(": keepalive\n\n");
      this.#cancelWait = this.#later();
    });
  }
}

export interface ReplyOptions {
  readonly accepted: AcceptedForms;
  readonly clock: Clock;
  readonly headers?: Readonly<Record<string, string>>;
  /** The HTTP status of an error. Default: 200, because a status ends the session of old clients. */
  readonly statusOf?: (code: unknown) => number;
  /** The request is answered at its end only, so that a client that takes no stream gets one anyway. */
  readonly staysOpen?: boolean;
  readonly onOver?: () => void;
}

/** The answer to one POST: JSON in one write, or a stream once something was told before the answer. */
export class HttpReply {
  readonly #exchange: HttpExchange;
  readonly #options: ReplyOptions;
  #stream: EventStream | undefined;
  #isOver = false;

  constructor(exchange: HttpExchange, options: ReplyOptions) {
    this.#exchange = exchange;
    this.#options = options;
  }

  readonly send: Send = (message) => {
    if (this.#isOver) return;
    const { accepted, headers, statusOf, staysOpen } = this.#options;
    if (message["method"] !== undefined) {
      if (accepted.namesStream || staysOpen === true) this.#streamed().send(message);
      return;
    }
    const error = message["error"] as JsonObject | undefined; // of an answer
    const status = error === undefined ? 200 : (statusOf?.(error["code"]) ?? 200);
    if (this.#stream === undefined && accepted.json) answerJson(this.#exchange, status, message, headers);
    else {
      this.#streamed().send(message);
      this.#stream?.end();
    }
    this.#over();
  };

  /** Ends it without an answer to the request. */
  breakOff(message: JsonObject): void {
    if (this.#isOver) return;
    if (this.#stream === undefined) answerJson(this.#exchange, 503, message);
    else this.#stream.end(String((message["error"] as JsonObject | undefined)?.["message"] ?? ""));
    this.#over();
  }

  #streamed(): EventStream {
    this.#stream ??= new EventStream(this.#exchange, this.#options.clock, this.#options.headers);
    return this.#stream;
  }

  #over(): void {
    this.#isOver = true;
    this.#options.onOver?.();
  }
}

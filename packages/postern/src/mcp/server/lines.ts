import { isJsonObject, type JsonObject } from "@postern/core";
import { Peer, type PeerRequest } from "../protocol/peer.ts";
import { answering, type DispatchParts } from "./dispatcher.ts";
import { LineTransport, type Pipes } from "./line-transport.ts";
import type { ClientSession, RequestSource } from "./request-source.ts";
import { checkStated, statesRevision } from "./revision.ts";

/** One client over pipes. It may begin with `initialize`, or state its revision in every request. */
export class LineEntry {
  /** Resolves when the client has closed its pipes and everything was answered. */
  readonly ended: Promise<void>;
  readonly #transport: LineTransport;
  readonly #peer: Peer<RequestSource>;
  readonly #parts: DispatchParts;
  /** Of a client that began with `initialize`. */
  #session: ClientSession | undefined;

  constructor(pipes: Pipes, source: RequestSource, parts: DispatchParts) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#parts = parts;
    this.#transport = new LineTransport(pipes, { clock: parts.clock });
    const answerOld = answering(true, parts);
    const answerNew = answering(false, parts);
    const answer = (request: PeerRequest<RequestSource>): Promise<JsonObject> => {
      const { params, method } = request;
      if (!statesRevision(params)) {
        if (method === "initialize") {
          const capabilities = isJsonObject(params["capabilities"]) ? params["capabilities"] : {};
          this.#leave();
          this.#session = parts.subscriptions.begin(source, capabilities, (...told) => this.#peer.tell(...told));
        }
        return answerOld(request);
      }
      checkStated(params["_meta"] as JsonObject); // it states its revision
      return answerNew(request);
    };
    this.#peer = new Peer({ send: (message) => void this.#transport.send(message), answer });
    this.#transport.onmessage = (message) =>
      this.#peer.receive(message, { ...source, session: this.#session, pipes: this });
    this.#transport.onclose = () => {
      this.#leave();
      this.#peer.close(new Error("The client closed its pipe."));
      resolve();
    };
    this.#transport.start();
  }

  close(): void {
    this.#transport.close();
  }

  #leave(): void {
    if (this.#session !== undefined) this.#parts.subscriptions.end(this.#session);
  }
}

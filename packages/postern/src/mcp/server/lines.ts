import { isJsonObject, type JsonObject } from "@postern/core";
import { Peer, type PeerRequest } from "../protocol/peer.ts";
import { answering, type DispatchParts } from "./dispatcher.ts";
import { LineTransport, type Pipes } from "./line-transport.ts";
import type { RequestSource } from "./request-source.ts";
import { checkStated, statesRevision } from "./revision.ts";

/** One client over pipes. It may begin with `initialize`, or state its revision in every request. */
export class LineEntry {
  /** Resolves when the client has closed its pipes and everything was answered. */
  readonly ended: Promise<void>;
  readonly #transport: LineTransport;
  readonly #peer: Peer<RequestSource>;
  #isInitialized = false;
  #capabilities: JsonObject = {};

  constructor(pipes: Pipes, source: RequestSource, parts: DispatchParts) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#transport = new LineTransport(pipes, { clock: parts.clock });
    const answerOld = answering(true, parts);
    const answerNew = answering(false, parts);
    const answer = (request: PeerRequest<RequestSource>): Promise<JsonObject> => {
      const { params, method } = request;
      if (!statesRevision(params)) {
        if (method === "initialize") {
          this.#isInitialized = true;
          this.#capabilities = isJsonObject(params["capabilities"]) ? params["capabilities"] : {};
        }
        return answerOld(request);
      }
      checkStated(params["_meta"] as JsonObject); // it states its revision
      return answerNew(request);
    };
    this.#peer = new Peer({ send: (message) => void this.#transport.send(message), answer });
    this.#transport.onmessage = (message) =>
      this.#peer.receive(message, { ...source, capabilities: this.#capabilities, session: this });
    this.#transport.onclose = () => {
      this.#peer.close(new Error("The client closed its pipe."));
      resolve();
    };
    this.#transport.start();
  }

  /** Only clients of old revisions are told without having asked. */
  tell(method: string): void {
    if (this.#isInitialized) this.#peer.tell(method);
  }

  close(): void {
    this.#transport.close();
  }
}

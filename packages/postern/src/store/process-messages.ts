import { type Clock, isJsonObject, type Json, type JsonObject, messageOf, newId } from "@postern/core";
import type { Store } from "./store.ts";

/** Answers a request of another process. What it throws reaches no caller, so it puts errors into its answer. */
export type MessageHandler = (body: Json) => Promise<JsonObject>;

export interface MessagesOptions {
  readonly store: Pick<Store, "commit" | "documents" | "incarnation">;
  readonly clock: Clock;
  readonly log: (problem: string) => void;
}

const requestKind = "message";
const replyKind = "message_reply";
const stateKind = "message_state";
/** The id of a document of these kinds begins with the process that it is for, or whose state it is, and a slash. */
export const messageKinds: readonly string[] = [requestKind, replyKind, stateKind];
/** A process that lives takes a request sooner than this. */
const takenWithinMs = 5_000;
/** As long as a call waits for its client. A process that was killed never answers. */
const answeredWithinMs = 600_000;

/**
 * Requests between the processes that share a store, for what only one of them has: a call that it holds open. Request and
 * reply are documents that the other side follows; both are removed when they were read. What a process tells all others
 * is one document a subject, which it replaces.
 */
export class ProcessMessages implements Disposable {
  readonly #options: MessagesOptions;
  readonly #handlers = new Map<string, MessageHandler>();
  /** Who waits for a reply, by the id of its request. */
  readonly #waiting = new Map<string, (reply: JsonObject) => void>();
  readonly #listeners = new Map<string, (state: Json) => void>();
  /** The last state of this process that is being written. */
  #telling: Promise<unknown> = Promise.resolve();
  readonly #following: readonly (Disposable | undefined)[];

  constructor(options: MessagesOptions) {
    this.#options = options;
    const { documents } = options.store;
    this.#following = [
      documents.follow?.(requestKind, (id, { version, body }) => this.#received(id, version, body)),
      documents.follow?.(replyKind, (id, { body }) => {
        if (isJsonObject(body)) this.#waiting.get(id)?.(body);
      }),
      documents.follow?.(stateKind, (id, { body }) => this.#told(id, body)),
    ];
  }

  /** What other processes address this one by. */
  get self(): string {
    return this.#options.store.incarnation;
  }

  handle(subject: string, handler: MessageHandler): void {
    this.#handlers.set(subject, handler);
  }

  /** Calls `listener` with what the other processes tell all: with what each told last, and when it tells something else. */
  async hear(subject: string, listener: (state: Json) => void): Promise<void> {
    this.#listeners.set(subject, listener);
    const { documents } = this.#options.store;
    for (const id of await documents.list(stateKind, "")) this.#told(id, (await documents.get(stateKind, id))?.body);
  }

  /** Resolves when it is written. If it cannot be written, that is logged, and the next state has it too. */
  tell(subject: string, state: () => Json): Promise<unknown> {
    const id = `${this.self}/${subject}`;
    this.#telling = this.#telling
      .then(async () => {
        const before = await this.#options.store.documents.get(stateKind, id);
        await this.#put(stateKind, id, state(), before?.version ?? 0);
      })
      .catch((error: unknown) =>
        this.#options.log(`The other processes were not told \`${subject}\`: ${messageOf(error)}`),
      );
    return this.#telling;
  }

  /**
   * Resolves to the answer; to undefined if that process is gone: it does not take the request within 5 s, or does not
   * answer it within ten minutes.
   *
   * @throws the reason of the signal, and what the store throws
   */
  async ask(process: string, subject: string, body: Json, signal: AbortSignal): Promise<JsonObject | undefined> {
    const id = `${process}/${newId("msg")}`;
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject | undefined>();
    let cancelWait = this.#options.clock.in(takenWithinMs, () => resolve(undefined));
    this.#waiting.set(id, (reply) => {
      cancelWait();
      if (isJsonObject(reply["answer"])) resolve(reply["answer"]);
      else cancelWait = this.#options.clock.in(answeredWithinMs, () => resolve(undefined));
    });
    const left = (): void => reject(signal.reason);
    signal.addEventListener("abort", left, { once: true });
    try {
      signal.throwIfAborted();
      await this.#put(requestKind, id, { subject, body }, 0);
      return await promise;
    } finally {
      cancelWait();
      signal.removeEventListener("abort", left);
      this.#waiting.delete(id);
      for (const kind of [requestKind, replyKind]) await this.#remove(kind, id);
    }
  }

  [Symbol.dispose](): void {
    for (const following of this.#following) following?.[Symbol.dispose]();
  }

  #told(id: string, state: Json | undefined): void {
    const [process = "", subject = ""] = id.split("/");
    if (state !== undefined && process !== this.self) this.#listeners.get(subject)?.(state);
  }

  #received(id: string, version: number, body: Json): void {
    if (version !== 1 || !id.startsWith(`${this.self}/`) || !isJsonObject(body)) return;
    const handler = this.#handlers.get(String(body["subject"]));
    if (handler === undefined) return;
    void this.#answer(id, handler, body["body"] ?? null).catch((error: unknown) =>
      this.#options.log(`A request of another process could not be answered: ${messageOf(error)}`),
    );
  }

  async #answer(id: string, handler: MessageHandler, body: Json): Promise<void> {
    await this.#put(replyKind, id, { taken: true }, 0);
    await this.#put(replyKind, id, { answer: await handler(body) }, 1);
  }

  async #put(kind: string, id: string, body: Json, expectedVersion: number): Promise<void> {
    await this.#options.store.commit({ write: "document", kind, id, body, expectedVersion }, "committed");
  }

  /** A removed document keeps its row, and so does one that stays behind, until the rows of its process are removed. */
  async #remove(kind: string, id: string): Promise<void> {
    const { documents } = this.#options.store;
    const found = await documents.get(kind, id).catch(() => undefined);
    if (found !== undefined && found.body !== null)
      await this.#put(kind, id, null, found.version).catch(() => undefined);
  }
}

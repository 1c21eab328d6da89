import type { Client, Progress } from "@modelcontextprotocol/client";
import type { Clock, JsonObject } from "@postern/core";
import { LostAnswer, mostAnswerBytes, tooManyBytes } from "../../results/raw-result.ts";
import { answerIn } from "./call-result.ts";
import { ClientLink, type ServerFacts } from "./client-link.ts";
import { Exchange, withExchange } from "./exchange.ts";
import type { Revision, SpokenRevision } from "./revision.ts";
import { callFault, isConnectionLost, reasonOf } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-config.ts";
import { listedIn, ToolList } from "./tool-list.ts";
import {
  notSentError,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
} from "./upstream.ts";

/** The longest wait of a timer. The SDK's own 60 s must not end a call: only the caller's signal does. */
const neverMs = 2 ** 31 - 1;
export const defaultStartTimeoutMs = 60_000;
const pingTimeoutMs = 8_000;
const resourceTimeoutMs = 20_000;
const endSessionMs = 2_000;
/** Open calls at the end of an HTTP connection fail by themselves, and their errors tell whether they were sent. */
const graceMs = 250;
/** A message is larger than the answer in it. */
const envelopeBytes = 64 * 1024;
const methodNotFound = -32_601;

export interface SdkUpstreamOptions {
  readonly events: UpstreamEvents;
  readonly spoken: SpokenRevision;
  readonly clock: Clock;
  /** The server's name in the configuration. */
  readonly name?: string;
  readonly revision?: Revision | undefined;
  readonly startTimeoutMs?: number | undefined;
  /** The most bytes of one answer. */
  readonly answerBytes?: number | undefined;
}

/** The port implemented with the official SDK, which is loaded when the first server is connected. */
export class SdkUpstream implements Upstream {
  readonly #address: ServerAddress;
  readonly #events: UpstreamEvents;
  readonly #clock: Clock;
  readonly #startTimeoutMs: number;
  /** The open calls: a function that ends each one, and a promise of its end. */
  readonly #underWay = new Map<(why: string) => void, Promise<void>>();
  readonly #link: ClientLink;
  readonly #listed = new ToolList();
  readonly #answerBytes: number;
  #over = false;

  constructor(address: ServerAddress, options: SdkUpstreamOptions) {
    const { events, clock, name = "", answerBytes = mostAnswerBytes, startTimeoutMs = defaultStartTimeoutMs } = options;
    this.#address = address;
    this.#answerBytes = answerBytes;
    this.#events = events;
    this.#clock = clock;
    this.#startTimeoutMs = startTimeoutMs;
    this.#link = new ClientLink(address, {
      ...{ clock, name, startTimeoutMs, spoken: options.spoken, revision: options.revision },
      limitBytes: answerBytes + envelopeBytes,
      tools: this.#listed,
      onClose: (why) => this.#gone(why),
      onToolsChanged: () => events.onToolsChanged(),
    });
  }

  get processId(): number | undefined {
    return this.#link.processId;
  }

  get waitUntil(): number | undefined {
    return this.#link.waitUntil;
  }

  connect(): Promise<ServerFacts> {
    return this.#link.connect();
  }

  async listTools(): Promise<UpstreamList> {
    this.#listed.begin();
    const timeout = this.#startTimeoutMs;
    try {
      const { tools } = await this.#connected("tools/list").listTools(undefined, { cacheMode: "refresh", timeout });
      return { tools: tools.map(listedIn), malformed: this.#listed.malformed };
    } catch (error) {
      if (!this.#link.declaresTools && codeOf(error) === methodNotFound) return { tools: [], malformed: [] };
      this.#link.forgetRevision(); // a server that was assumed to be new answers here for the first time
      throw error;
    }
  }

  async callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    const client = this.#connected(name);
    if (call.signal.aborted)
      throw notSentError(`Tool \`${name}\`: the call was cancelled before anything was sent.`, call.signal.reason);
    const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
    const exchange = new Exchange(
      this.#clock,
      () => void this.ping().catch(ignored),
      () => breakOff(new Error("the answer's stream broke off")),
    );
    const onGone = (why: string): void => breakOff(new Error(why));
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#underWay.set(onGone, ended);
    const params = { name, arguments: given, _meta: { ...call.meta, "postern/idempotency-key": call.idempotencyKey } };
    const onprogress = (at: Progress): void => reportProgress(at, call);
    const options = { signal: call.signal, timeout: neverMs, onprogress };
    try {
      const answer = withExchange(exchange, () => client.callTool(params, options));
      await Promise.race([answer, broken]);
    } catch (error) {
      if (exchange.tooLarge) return new LostAnswer(`it has ${tooManyBytes(this.#answerBytes)}`);
      throw this.#fault(name, error, exchange);
    } finally {
      this.#underWay.delete(onGone);
      exchange.end();
      end();
    }
    return answerIn(name, exchange, client.getProtocolEra() === "modern");
  }

  async readResource(uri: string): Promise<readonly JsonObject[]> {
    const { contents } = await this.#connected(uri).readResource({ uri }, { timeout: resourceTimeoutMs });
    return contents as readonly JsonObject[]; // it was read from JSON
  }

  async ping(): Promise<void> {
    const client = this.#connected("ping");
    try {
      await (client.getProtocolEra() === "modern"
        ? client.discover({ timeout: pingTimeoutMs })
        : client.ping({ timeout: pingTimeoutMs }));
    } catch (error) {
      if (codeOf(error) !== undefined) return; // the server answers, although it does not know the method
      this.#gone(reasonOf(error));
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#link.abort();
    if (this.#underWay.size > 0) await this.#atMost(graceMs, Promise.all([...this.#underWay.values()]));
    for (const breakOff of this.#underWay.keys()) breakOff("the connection was closed");
    await this.#atMost(endSessionMs, this.#link.endSession());
    await this.#link.close();
  }

  #fault(name: string, error: unknown, exchange: Exchange): Error {
    const isStdio = this.#address.kind === "stdio";
    const { refused, unreadable, resetsAt, asText, sent } = exchange;
    const wire = { refused, unreadable, resetsAt, asText, hasSession: this.#link.hasSession, sent: isStdio || sent };
    const fault = callFault(name, error, wire);
    if ("sessionGone" in fault || (refused === undefined && unreadable === undefined && isConnectionLost(error)))
      this.#gone(reasonOf(error));
    return fault;
  }

  #connected(what: string): Client {
    const { client } = this.#link;
    if (client === undefined || this.#over) throw notSentError(`Tool \`${what}\`: its server is not connected.`);
    return client;
  }

  async #atMost(ms: number, what: Promise<unknown>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancelWait = this.#clock.in(ms, resolve);
    await Promise.race([what, promise]);
    cancelWait();
  }

  #gone(why: string): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#address.kind === "stdio") for (const breakOff of this.#underWay.keys()) breakOff(why);
    this.#events.onClose(why);
  }
}

/** The code of a JSON-RPC error. Returns undefined if the server did not answer. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "number" && !(error instanceof DOMException)
    ? error.code
    : undefined;
}

/** Passes progress on as text and in the server's numbers, and as a fraction if the total is known. */
function reportProgress({ progress, total, message }: Progress, { onProgress }: UpstreamCall): void {
  const words = message ?? `${progress}${total === undefined ? "" : ` of ${total}`}`;
  const fraction = total === undefined || total === 0 ? undefined : progress / total;
  onProgress(words, fraction, { progress, ...(total !== undefined && { total }) });
}

/** Closing a broken connection may fail. */
function ignored(): void {}

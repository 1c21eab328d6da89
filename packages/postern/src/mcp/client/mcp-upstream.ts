import { type Clock, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { type LogLevel, reaches } from "../../call/client-of-call.ts";
import { LostAnswer, mostAnswerBytes, tooManyBytes } from "../../results/raw-result.ts";
import type { UpstreamRpcError } from "../../tools/rpc-error.ts";
import { parameterHeaders } from "../protocol/parameter-headers.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { withOwnMeta } from "../protocol/revisions.ts";
import { answerIn } from "./call-result.ts";
import { ClientLink, type ServerFacts } from "./client-link.ts";
import { Exchange } from "./exchange.ts";
import { pagesOf } from "./pages.ts";
import { reportProgress } from "./progress.ts";
import { type Askable, answersTo, askable, questionsIn } from "./questions.ts";
import type { Revision, SpokenRevision } from "./revision.ts";
import { callFault, isConnectionLost, reasonOf } from "./sdk-faults.ts";
import type { ServerAddress } from "./server-address.ts";
import type { ServerPeer } from "./server-peer.ts";
import { ToolList } from "./tool-list.ts";
import { ownTurn } from "./turns.ts";
import {
  notSentError,
  refusedCall,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamEvents,
  type UpstreamList,
} from "./upstream.ts";

export const defaultStartTimeoutMs = 60_000;
const pingTimeoutMs = 8_000;
const resourceTimeoutMs = 20_000;
const endSessionMs = 2_000;
/** Open calls at the end of an HTTP connection fail by themselves, and their errors tell whether they were sent. */
const graceMs = 250;
/** A message is larger than the answer in it. */
const envelopeBytes = 64 * 1024;
const methodNotFound = -32_601;
/** A server that asks again after every answer never runs the tool. */
const mostRounds = 20;

export interface McpUpstreamOptions {
  readonly events: UpstreamEvents;
  readonly spoken: SpokenRevision;
  readonly clock: Clock;
  /** The server's name in the configuration. */
  readonly name?: string;
  readonly revision?: Revision | undefined;
  readonly startTimeoutMs?: number | undefined;
  /** What the server may ask the clients of its calls. Default: nothing. */
  readonly mayAsk?: readonly Askable[] | undefined;
  /** The most bytes of one answer. */
  readonly answerBytes?: number | undefined;
}

/** The port over pipes and HTTP. The transports for HTTP are the official SDK's, loaded when the first such server is connected. */
export class McpUpstream implements Upstream {
  readonly #address: ServerAddress;
  readonly #events: UpstreamEvents;
  readonly #clock: Clock;
  readonly #startTimeoutMs: number;
  /** The open calls: a function that ends each one, and a promise of its end. */
  readonly #underWay = new Map<(why: string) => void, Promise<void>>();
  readonly #link: ClientLink;
  /** The schemas of the listed tools: headers repeat the arguments that they name. */
  #schemas: ReadonlyMap<string, JsonObject> = new Map();
  #asTasks: ReadonlySet<string> = new Set();
  readonly #answerBytes: number;
  readonly #mayAsk: readonly Askable[];
  readonly #name: string;
  /** What a server of 2025 was asked for. */
  #logsFrom: LogLevel | undefined;
  readonly #leaving = new Map<string, Promise<void>>();
  #over = false;

  constructor(address: ServerAddress, options: McpUpstreamOptions) {
    const {
      events,
      clock,
      name = "",
      mayAsk = [],
      answerBytes = mostAnswerBytes,
      startTimeoutMs = defaultStartTimeoutMs,
    } = options;
    this.#address = address;
    this.#answerBytes = answerBytes;
    this.#mayAsk = mayAsk;
    this.#name = name;
    this.#events = events;
    this.#clock = clock;
    this.#startTimeoutMs = startTimeoutMs;
    this.#link = new ClientLink(address, {
      ...{ clock, name, startTimeoutMs, spoken: options.spoken, revision: options.revision, mayAsk },
      limitBytes: answerBytes + envelopeBytes,
      events: { ...events, onClose: (why) => this.#gone(why) },
    });
  }

  get processId(): number | undefined {
    return this.#link.processId;
  }

  get waitUntil(): number | undefined {
    return this.#link.waitUntil;
  }

  get capabilities(): JsonObject | undefined {
    return this.#link.peer?.capabilities;
  }

  get instructions(): string | undefined {
    const stated = this.#link.peer?.facts?.["instructions"];
    return typeof stated === "string" ? stated : undefined;
  }

  readonly list = async (method: string, member: string): Promise<readonly JsonObject[]> => {
    const items: JsonObject[] = [];
    for await (const page of this.#pages(this.#connected(method), method, member))
      items.push(...page.filter(isJsonObject));
    return items;
  };

  connect(): Promise<ServerFacts> {
    return this.#link.connect();
  }

  async listTools(): Promise<UpstreamList> {
    const list = new ToolList();
    const peer = this.#connected("tools/list");
    try {
      for await (const tools of this.#pages(peer, "tools/list", "tools")) {
        await ownTurn(); // many servers are listed at once when Postern starts
        list.add(tools);
      }
    } catch (error) {
      if (!isJsonObject(peer.capabilities["tools"]) && codeOf(error) === methodNotFound)
        return { tools: [], malformed: [] };
      this.#link.forgetRevision(); // a server that was assumed to be new answers here for the first time
      throw error;
    }
    this.#asTasks = list.asTasks;
    this.#schemas = new Map(list.tools.map(({ name, inputSchema }) => [name, inputSchema]));
    return list;
  }

  #pages(peer: ServerPeer, method: string, member: string): AsyncGenerator<readonly Json[]> {
    const ask = (params: JsonObject): Promise<JsonObject> =>
      peer.request(method, params, { timeoutMs: this.#startTimeoutMs });
    return pagesOf(ask, method, member);
  }

  async callTool(name: string, given: JsonObject, call: UpstreamCall): Promise<UpstreamAnswer | LostAnswer> {
    const peer = this.#connected(name);
    if (call.signal.aborted)
      throw notSentError(`Tool \`${name}\`: the call was cancelled before anything was sent.`, call.signal.reason);
    if (call.client?.logs?.isAsked === true) await this.askForLogs(call.client.logs.from);
    let more: JsonObject = {};
    for (let round = 0; round < mostRounds; round += 1) {
      const params = call.method === undefined ? { name, arguments: given } : given;
      const isTask = peer.isOld && call.method === undefined && this.#asTasks.has(name);
      const answer = await (isTask
        ? this.#sentAsTask(peer, name, params, call)
        : this.#sent(peer, name, { ...params, ...more }, call));
      if (answer instanceof LostAnswer) return answer;
      const { result = {} } = answer;
      if (peer.isOld || result["resultType"] !== "input_required")
        return call.method === undefined ? answerIn(name, answer, !peer.isOld) : wholeOf(answer);
      more = await this.#answers(name, result, call);
    }
    throw new Error(`Tool \`${name}\`: its server asked for input ${mostRounds} times, and got no further.`);
  }

  /** What a server of 2026 asks for before it runs the tool, as members of the next request. */
  async #answers(tool: string, result: JsonObject, { client }: UpstreamCall): Promise<JsonObject> {
    const { requestState } = result;
    const asking = { mayAsk: this.#mayAsk, server: this.#name, client, hasBegun: false };
    try {
      const inputResponses = await answersTo(questionsIn(result), asking);
      return { inputResponses, ...(requestState !== undefined && { requestState }) };
    } catch (error) {
      if (error instanceof RpcFault)
        throw refusedCall(`Tool \`${tool}\` asks for input: ${error.message}`, rpcErrorOf(error), true, error);
      throw error;
    }
  }

  /** A call of a tool that runs only as a task of its server, and the task's result. */
  async #sentAsTask(
    peer: ServerPeer,
    name: string,
    given: JsonObject,
    call: UpstreamCall,
  ): Promise<Exchange | LostAnswer> {
    const begun = await this.#sent(peer, name, { ...given, task: {} }, call);
    const task = begun instanceof LostAnswer ? undefined : begun.result?.["task"];
    if (!isJsonObject(task) || typeof task["taskId"] !== "string") return begun;
    const { taskId } = task;
    const cancel = (): void => void peer.request("tasks/cancel", { taskId }).catch(ignored);
    call.signal.addEventListener("abort", cancel, { once: true });
    if (call.signal.aborted) cancel();
    try {
      return await this.#sent(peer, name, { taskId }, { ...call, method: "tasks/result" });
    } finally {
      call.signal.removeEventListener("abort", cancel);
    }
  }

  /** One request, and its answer or why it cannot be used. */
  async #sent(peer: ServerPeer, name: string, given: JsonObject, call: UpstreamCall): Promise<Exchange | LostAnswer> {
    const { promise: broken, reject: breakOff } = Promise.withResolvers<never>();
    const exchange = new Exchange(
      this.#clock,
      () => void this.ping().catch(ignored),
      () => breakOff(new Error("the answer's stream broke off")),
      call.client,
    );
    const onGone = (why: string): void => breakOff(new Error(why));
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#underWay.set(onGone, ended);
    const params = { ...given, _meta: { ...call.meta, "postern/idempotency-key": call.idempotencyKey } };
    const { method = "tools/call" } = call;
    const schema = peer.isOld || call.method !== undefined ? undefined : this.#schemas.get(name);
    const options = {
      ...{ signal: call.signal, exchange, onProgress: (at: JsonObject) => reportProgress(at, call) },
      ...(schema !== undefined && { headers: parameterHeaders(schema, given["arguments"]) }),
    };
    try {
      await Promise.race([peer.request(method, params, options), broken]);
      return exchange;
    } catch (error) {
      if (exchange.tooLarge) return new LostAnswer(`it has ${tooManyBytes(this.#answerBytes)}`);
      throw this.#fault(name, error, exchange);
    } finally {
      this.#underWay.delete(onGone);
      exchange.end();
      end();
    }
  }

  async readResource(uri: string): Promise<readonly JsonObject[]> {
    const asked = { timeoutMs: resourceTimeoutMs };
    const { contents } = await this.#connected(uri).request("resources/read", { uri }, asked);
    return Array.isArray(contents) ? contents.filter(isJsonObject) : [];
  }

  async subscribe(uri: string, signal: AbortSignal, onMissed: () => void): Promise<void> {
    const peer = this.#connected("resources/subscribe");
    const options = { timeoutMs: resourceTimeoutMs };
    try {
      if (!peer.isOld) return await this.#link.follow(peer, uri, signal, onMissed);
      await this.#leaving.get(uri); // over HTTP a later request may arrive first
      await peer.request("resources/subscribe", { uri }, options);
    } catch (error) {
      const rpcError = error instanceof RpcFault ? rpcErrorOf(error) : undefined;
      throw refusedCall(`Resource \`${uri.slice(0, 200)}\`: ${reasonOf(error)}`, rpcError, true, error);
    }
    const leave = (): void => {
      const left = peer.request("resources/unsubscribe", { uri }, options).then(ignored, ignored);
      this.#leaving.set(uri, left);
      void left.finally(() => this.#leaving.delete(uri));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  }

  async askForLogs(from: LogLevel): Promise<void> {
    const { peer } = this.#link;
    if (peer?.isOld !== true || peer.capabilities["logging"] === undefined) return;
    // Other clients are told from `info` on, whatever this one wants.
    const level = [from, "info" as const, ...(this.#logsFrom === undefined ? [] : [this.#logsFrom])].reduce(lower);
    if (level === this.#logsFrom) return;
    this.#logsFrom = level;
    await peer.request("logging/setLevel", { level }, { timeoutMs: resourceTimeoutMs }).catch(ignored);
  }

  async ping(): Promise<void> {
    const peer = this.#connected("ping");
    try {
      await peer.request(peer.isOld ? "ping" : "server/discover", {}, { timeoutMs: pingTimeoutMs });
    } catch (error) {
      if (codeOf(error) !== undefined) return; // the server answers, although it does not know the method
      this.#gone(reasonOf(error));
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#over = true;
    this.#link.leave();
    this.#link.abort();
    if (this.#underWay.size > 0) await this.#atMost(graceMs, Promise.all([...this.#underWay.values()]));
    for (const breakOff of this.#underWay.keys()) breakOff("the connection was closed");
    await this.#atMost(endSessionMs, this.#link.endSession());
    await this.#link.close();
  }

  #fault(name: string, error: unknown, exchange: Exchange): Error {
    const isStdio = this.#address.kind === "stdio";
    const { refused, unreadable, resetsAt, asText, sent } = exchange;
    const withheld = withheldFrom(refused, this.#mayAsk);
    if (withheld !== undefined)
      return refusedCall(
        `Tool \`${name}\` needs to ask its client for ${withheld}, which server \`${this.#name}\` may not. The operator allows it with \`servers.${this.#name}.may_ask\`.`,
        undefined,
        true,
        error,
      );
    const wire = { refused, unreadable, resetsAt, asText, hasSession: this.#link.hasSession, sent: isStdio || sent };
    const fault = callFault(name, error, wire);
    if ("sessionGone" in fault || (refused === undefined && unreadable === undefined && isConnectionLost(error)))
      this.#gone(reasonOf(error));
    return fault;
  }

  #connected(what: string): ServerPeer {
    const { peer } = this.#link;
    if (peer?.facts === undefined || this.#over) throw notSentError(`Tool \`${what}\`: its server is not connected.`);
    return peer;
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
    this.#link.leave();
    if (this.#address.kind === "stdio") for (const breakOff of this.#underWay.keys()) breakOff(why);
    this.#events.onClose(why);
  }
}

/** The result of a request that calls no tool, without what belongs to the protocol and the connection. */
function wholeOf({ result = {}, asText }: Exchange): UpstreamAnswer {
  const { resultType: _, ttlMs: _ttl, cacheScope: _scope, ...own } = result;
  const structured = withOwnMeta(own);
  return { content: [], structured, isError: false, asText };
}

/** What a server needs of a client and was not told of, because it may not ask for it. */
function withheldFrom(refused: UpstreamRpcError | undefined, mayAsk: readonly Askable[]): string | undefined {
  const required =
    refused?.code === rpcCodes.capabilityMissing && isJsonObject(refused.data) && refused.data["requiredCapabilities"];
  if (!isJsonObject(required)) return undefined;
  return askable.find((kind) => required[kind] !== undefined && !mayAsk.includes(kind));
}

function lower(one: LogLevel, other: LogLevel): LogLevel {
  return reaches(one, other) ? other : one;
}

function rpcErrorOf({ code, message, data }: RpcFault): UpstreamRpcError {
  return { code, message, ...(data !== undefined && { data }) };
}

/** The code of a JSON-RPC error. Returns undefined if the server did not answer. */
function codeOf(error: unknown): number | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "number" && !(error instanceof DOMException)
    ? error.code
    : undefined;
}

/** Closing a broken connection may fail. */
function ignored(): void {}

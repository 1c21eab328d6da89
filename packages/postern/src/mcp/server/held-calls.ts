import { createHmac, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { type Clock, canonical, isJsonObject, type Json, type JsonObject } from "@postern/core";
import type { ClientOfCall, LogLevel, Named, ServerQuestion } from "../../call/client-of-call.ts";
import type { ProcessMessages } from "../../store/process-messages.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys } from "../protocol/revisions.ts";
import { checkCanBeAsked } from "./client-capabilities.ts";
import { callerKey, type McpRequest, ownerOf } from "./request-source.ts";

/** How long a call waits for its client's answers. */
const holdMs = 600_000;
const mostHeld = 1_000;
/** Of one agent, so that none takes the place of the others. */
const mostHeldOfOne = 200;

/** A call that runs while its client is asked: no request of the client is open in between. */
interface HeldCall {
  readonly id: string;
  readonly owner: string;
  /** The caller, and what it called with which arguments. Known once the call has asked. */
  readonly whose: () => string;
  readonly done: Promise<JsonObject>;
  /** The request that waits for the call now; undefined while the client is to answer. */
  request: WaitingRequest | undefined;
  open: OpenQuestions | undefined;
  /** Resolves when the call asks next. */
  asked: PromiseWithResolvers<void>;
  readonly leave: AbortController;
  cancelWait: () => void;
}

type WaitingRequest = Pick<McpRequest, "capabilities" | "signal" | "tell">;

/** A client's answers. */
interface PassedAnswers {
  /** As it was sent. */
  readonly state: Json;
  readonly whose: string;
  readonly inputResponses: Json;
  readonly capabilities?: JsonObject;
}

const answersSubject = "mcp.input_answers";
const leftSubject = "mcp.client_left";

interface OpenQuestions {
  /** A number that no other question has: a state answers this one. */
  readonly round: number;
  readonly questions: Named<ServerQuestion>;
  readonly hasBegun: boolean;
  readonly answer: (answers: Named<JsonObject>) => void;
  readonly giveUp: (why: Error) => void;
}

/** What a call is made with: everything but the members that answer its questions. */
export type AskableWork = (request: McpRequest, client: ClientOfCall) => Promise<JsonObject>;

/**
 * Calls of clients of revision 2026-07-28 that ask for something while they run. Such a client gets `input_required`, and its
 * call stays open here until the answers come with the client's next request, so that the tool runs once.
 *
 * Invariant: the answers of a call are taken only from the caller that began it, for the same method and arguments, once.
 * The state that the client sends with them names the process that holds the call: another process of the same store passes
 * them on.
 */
export class HeldCalls {
  readonly #clock: Clock;
  readonly #held = new Map<string, HeldCall>();
  readonly #key = randomBytes(32);
  readonly #processes: ProcessMessages | undefined;
  /** What ends the waiting of a client that answered at another process, by its state. */
  readonly #remote = new Map<string, AbortController>();
  #rounds = 0;

  /** @param processes the other processes of the store, if several share it */
  constructor(clock: Clock, processes?: ProcessMessages) {
    this.#clock = clock;
    this.#processes = processes;
    processes?.handle(answersSubject, (body) => this.#answersFrom(body as unknown as PassedAnswers)); // this class wrote it
    processes?.handle(leftSubject, async (state) => {
      this.#remote.get(String(state))?.abort(new Error("The client left."));
      return {};
    });
  }

  async run(request: McpRequest, work: AskableWork): Promise<JsonObject> {
    const { inputResponses, requestState, ...params } = request.params;
    const { method, source } = request;
    let key: string | undefined;
    const whose = (): string => {
      key ??= canonical([callerKey(source.caller), source.server ?? null, method, params]);
      return key;
    };
    if (requestState !== undefined) {
      const passed = { state: requestState, whose: whose(), inputResponses: inputResponses ?? null };
      return (await this.#passOn(passed, request)) ?? this.#continued(passed, request);
    }
    const before = [...this.#held.values()].find((held) => held.open !== undefined && held.whose() === whose());
    if (before?.open?.hasBegun === true) return this.#asking(before, before.open);
    if (before !== undefined) {
      before.open?.giveUp(givenUp("The client began the call anew, and it was waiting for input."));
      await before.done.catch(ignored);
    }
    const call = this.#begin({ ...request, params }, whose, work);
    return this.#answered(call);
  }

  close(): void {
    for (const { open, leave } of this.#held.values()) {
      open?.giveUp(givenUp("Postern stops."));
      leave.abort(new Error("Postern stops."));
    }
  }

  #continued(
    { state, whose, inputResponses }: PassedAnswers,
    request: WaitingRequest,
  ): Promise<JsonObject> | JsonObject {
    const call = this.#found(state, whose);
    const open = call.open as OpenQuestions; // it was found by its question
    const answers = answersIn(inputResponses, open.questions);
    if (answers === undefined) return this.#asking(call, open);
    this.#waitFor(call, request);
    open.answer(answers);
    return this.#answered(call);
  }

  /** The result of the process that holds the call. Returns undefined if that is this one. */
  async #passOn(passed: PassedAnswers, { signal, capabilities }: McpRequest): Promise<JsonObject | undefined> {
    const processes = this.#processes;
    const [holder = ""] = String(passed.state).split(".");
    if (processes === undefined || holder === processes.self) return undefined;
    const body = { ...passed, capabilities };
    try {
      const reply = (await processes.ask(holder, answersSubject, body, signal)) ?? {};
      const { result, error } = reply;
      if (isJsonObject(error))
        throw new RpcFault(Number(error["code"]), String(error["message"]), error["data"] ?? undefined);
      if (!isJsonObject(result)) throw wrongState(); // that process is gone, and the call with it
      return result;
    } catch (error) {
      if (signal.aborted) await processes.ask(holder, leftSubject, passed.state, new AbortController().signal);
      throw error;
    }
  }

  /** For a client that answers at another process. Nothing can be told to it before the result. */
  async #answersFrom({ capabilities = {}, ...passed }: PassedAnswers): Promise<JsonObject> {
    const left = new AbortController();
    const state = String(passed.state);
    this.#remote.set(state, left);
    try {
      const request = { capabilities, signal: left.signal, tell: ignored };
      return { result: await this.#continued(passed, request) };
    } catch (error) {
      if (error instanceof RpcFault)
        return { error: { code: error.code, message: error.message, data: error.data ?? null } };
      return { error: { code: rpcCodes.internal, message: "The call failed at the process that held it." } };
    } finally {
      this.#remote.delete(state);
    }
  }

  #begin(request: McpRequest, whose: () => string, work: AskableWork): HeldCall {
    const leave = new AbortController();
    const client: ClientOfCall = {
      capabilities: request.capabilities,
      logs: logsIn(request.meta),
      ask: (questions, hasBegun) => this.#ask(call, questions, hasBegun),
      tell: (method, params) => call.request?.tell(method, params),
    };
    const tell: McpRequest["tell"] = (method, params) => call.request?.tell(method, params);
    const done = Promise.resolve().then(() => work({ ...request, signal: leave.signal, tell }, client));
    const call: HeldCall = {
      ...{ id: randomUUID(), owner: ownerOf(request.source), whose, done, leave, request: undefined, open: undefined },
      ...{ asked: Promise.withResolvers<void>(), cancelWait: ignored },
    };
    done
      .finally(() => {
        call.cancelWait();
        this.#held.delete(call.id);
      })
      .catch(ignored); // `#answered` reports it
    this.#waitFor(call, request);
    return call;
  }

  /** The call ends with the client's connection while a request waits for it. */
  #waitFor(call: HeldCall, request: WaitingRequest): void {
    call.cancelWait();
    call.request = request;
    call.open = undefined;
    call.asked = Promise.withResolvers();
    request.signal.addEventListener(
      "abort",
      () => {
        if (call.request === request) call.leave.abort(request.signal.reason);
      },
      { once: true },
    );
  }

  async #answered(call: HeldCall): Promise<JsonObject> {
    const result = await Promise.race([call.done, call.asked.promise]);
    const { open } = call;
    return result ?? this.#asking(call, open as OpenQuestions); // it has asked
  }

  #asking(call: HeldCall, { questions, round }: OpenQuestions): JsonObject {
    call.request = undefined;
    return {
      resultType: "input_required",
      inputRequests: questions as unknown as JsonObject, // plain JSON
      requestState: this.#stateOf(call, round),
    };
  }

  async #ask(call: HeldCall, questions: Named<ServerQuestion>, hasBegun: boolean): Promise<Named<JsonObject>> {
    checkCanBeAsked(questions, call.request?.capabilities ?? {});
    if (!this.#held.has(call.id)) this.#checkRoom(call.owner);
    this.#held.set(call.id, call);
    const { promise, resolve, reject } = Promise.withResolvers<Named<JsonObject>>();
    this.#rounds += 1;
    call.open = { round: this.#rounds, questions, hasBegun, answer: resolve, giveUp: reject };
    call.cancelWait = this.#clock.in(holdMs, () =>
      reject(givenUp(`No person answered within ${holdMs / 60_000} minutes.`)),
    );
    call.asked.resolve();
    return promise;
  }

  /** @throws RpcFault */
  #checkRoom(owner: string): void {
    const own = [...this.#held.values()].filter((held) => held.owner === owner).length;
    if (own < mostHeldOfOne && this.#held.size < mostHeld) return;
    const whose = own < mostHeldOfOne ? `${mostHeld} calls` : `${own} calls of this agent`;
    throw new RpcFault(rpcCodes.internal, `${whose} wait for their clients already; try again later.`);
  }

  /** The process that holds the call; then, signed so that no client can forge it: the call's id, its question, when it expires. */
  #stateOf({ id, whose }: HeldCall, round: number): string {
    const text = Buffer.from(JSON.stringify([id, round, this.#clock.now() + holdMs])).toString("base64url");
    return `${this.#processes?.self ?? ""}.${text}.${this.#signature(text, whose())}`;
  }

  #signature(text: string, whose: string): string {
    return createHmac("sha256", this.#key).update(`${text}\n${whose}`).digest("base64url");
  }

  /** @throws RpcFault for a state that is forged, of another caller or request, expired, or used already */
  #found(state: Json, whose: string): HeldCall {
    const [, text = "", signature = ""] = typeof state === "string" ? state.split(".") : [];
    const wanted = Buffer.from(this.#signature(text, whose));
    const given = Buffer.from(signature);
    if (wanted.length !== given.length || !timingSafeEqual(wanted, given)) throw wrongState();
    const [id, round, expiresAt] = JSON.parse(Buffer.from(text, "base64url").toString()) as [string, number, number]; // it is signed
    const call = this.#held.get(id);
    if (call?.open?.round !== round || expiresAt <= this.#clock.now()) throw wrongState();
    return call;
  }
}

/** The answers to these questions, and nothing else that a client sends. Returns undefined if one is missing. */
function answersIn(given: Json | undefined, questions: Named<ServerQuestion>): Named<JsonObject> | undefined {
  const all = isJsonObject(given) ? given : {};
  const answers = Object.keys(questions).map((name): [string, Json | undefined] => [
    name,
    Object.hasOwn(all, name) ? all[name] : undefined,
  ]);
  return answers.every((one): one is [string, JsonObject] => isJsonObject(one[1]))
    ? Object.fromEntries(answers)
    : undefined;
}

/** Since 2026-07-28 a client asks for log messages in each request. */
function logsIn(meta: JsonObject): ClientOfCall["logs"] {
  const from = meta[metaKeys.logLevel] as LogLevel | undefined; // checked when it came
  return from === undefined ? undefined : { from, isAsked: true };
}

function wrongState(): RpcFault {
  return new RpcFault(
    rpcCodes.invalidParams,
    "`requestState` is not one that waits for an answer: it was used, has expired, or belongs to another request. Send the request anew without it.",
  );
}

/** Nothing has run, so the call has failed, and can be sent again. */
function givenUp(message: string): Error {
  return Object.assign(new Error(message), { notExecuted: true });
}

function ignored(): void {}

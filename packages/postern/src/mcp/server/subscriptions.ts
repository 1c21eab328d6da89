import { isJsonObject, type JsonObject, shown } from "@postern/core";
import { type LogLevel, type ResourceListener, reaches } from "../../call/client-of-call.ts";
import type { Runtime } from "../../runtime/api/api.ts";
import type { SharedNotice } from "../client/server-features.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys } from "../protocol/revisions.ts";
import { Listener } from "./listener.ts";
import { type ClientSession, callerKey, type McpRequest, ownerOf, type RequestSource } from "./request-source.ts";
import { maySee } from "./visible-servers.ts";

const atMost = 1_024;
/** Open requests of one agent, so that none takes the place of the others. */
const atMostOfOne = 100;
const mostResources = 100;

type Tell = (method: string, params?: JsonObject) => void;

export type ListenRequest = Pick<McpRequest, "id" | "params" | "source" | "signal" | "tell">;

export interface ListenParts {
  /** Of this server: what it does not declare cannot be listened to. */
  readonly capabilities: JsonObject;
  /** Subscribes to one resource. Rejects if the caller may not, or the server refuses it. */
  readonly subscribe: (uri: string, listener: ResourceListener) => Promise<unknown>;
}

/** All clients that are told what changes: sessions of old revisions, and open requests `subscriptions/listen`. */
export class Subscriptions {
  readonly #runtime: Runtime;
  readonly #listeners = new Set<Listener>();
  /** What ends each open request, and whose it is. */
  readonly #open = new Map<() => void, string>();
  readonly #logging = new Set<ClientSession>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Whether a session wants log messages that belong to no call. */
  get wantsMessages(): boolean {
    return this.#logging.size > 0;
  }

  /** A client of an old revision is told without a request that listens. */
  begin(source: RequestSource, capabilities: JsonObject, tell: Tell): ClientSession {
    const listener = new Listener(source, this.#runtime, tell, (notice) => {
      if (notice.kind === "list") return true;
      return session.logsFrom !== undefined && reaches(notice.params["level"], session.logsFrom);
    });
    const session: ClientSession = { capabilities, listener, logsFrom: undefined };
    this.#listeners.add(listener);
    return session;
  }

  setLogs(session: ClientSession, from: LogLevel): void {
    session.logsFrom = from;
    this.#logging.add(session);
  }

  end(session: ClientSession): void {
    this.#logging.delete(session);
    this.#leave(session.listener as Listener); // made by `begin`
  }

  /**
   * Resolves when the request is over.
   *
   * @throws RpcFault for a wrong filter, or when too many listen
   */
  async listen(request: ListenRequest, { capabilities, subscribe }: ListenParts): Promise<JsonObject> {
    const { id, source, signal } = request;
    const filter = filterIn(request.params);
    const owner = ownerOf(source);
    const own = [...this.#open.values()].filter((one) => one === owner).length;
    if (own >= atMostOfOne || this.#open.size >= atMost) {
      const whose = own < atMostOfOne ? `${atMost} requests` : `${own} requests of this agent`;
      throw new RpcFault(rpcCodes.internal, `${whose} listen already; end some and try again.`);
    }
    const marked = { _meta: { [metaKeys.subscriptionId]: id } };
    const tell: Tell = (method, params) => request.tell(method, { ...params, ...marked });
    const wanted = honored(filter, capabilities);
    let early: Parameters<Tell>[] | undefined = []; // the confirmation comes first
    const listener = new Listener(
      source,
      this.#runtime,
      (...told) => void (early === undefined ? tell(...told) : early.push(told)),
      (notice) => notice.kind === "list" && wanted[`${notice.list}ListChanged`] === true,
    );
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#open.set(end, owner);
    this.#listeners.add(listener);
    signal.addEventListener("abort", () => end(), { once: true });
    try {
      const uris = await accepted(urisIn(filter, capabilities), (uri) => subscribe(uri, listener));
      const notifications = { ...wanted, ...(uris.length > 0 && { resourceSubscriptions: uris }) };
      tell("notifications/subscriptions/acknowledged", { notifications });
      for (const told of early.splice(0)) tell(...told);
      early = undefined;
      if (Object.keys(notifications).length > 0 && !signal.aborted) await ended;
    } finally {
      this.#open.delete(end);
      this.#leave(listener);
    }
    return marked;
  }

  /** @param server that told it; left out: every endpoint has it */
  async tell(notice: SharedNotice | { readonly kind: "list"; readonly list: "tools" }, server?: string): Promise<void> {
    const may = new Map<string, Promise<boolean>>();
    const sees = (source: RequestSource): Promise<boolean> | true => {
      if (server === undefined) return true;
      const key = callerKey(source.caller);
      const known = may.get(key) ?? maySee(server, source, this.#runtime);
      may.set(key, known);
      return known;
    };
    for (const listener of this.#listeners) {
      const { source } = listener;
      const isHere = server === undefined || source.server === undefined || source.server === server;
      if (!isHere || !listener.wants(notice) || !(await sees(source))) continue;
      if (notice.kind === "list") listener.tell(`notifications/${notice.list}/list_changed`);
      else listener.tell("notifications/message", notice.params);
    }
  }

  /** The list of tools grew for these requests only. */
  tellMoreTools(isMeant: (source: RequestSource) => boolean): void {
    for (const listener of this.#listeners)
      if (isMeant(listener.source) && listener.wants({ kind: "list", list: "tools" }))
        listener.tell("notifications/tools/list_changed");
  }

  /** Answers every open request. */
  close(): void {
    for (const end of this.#open.keys()) end();
  }

  #leave(listener: Listener): void {
    this.#listeners.delete(listener);
    listener.end();
  }
}

/** @throws RpcFault */
function filterIn({ notifications }: JsonObject): JsonObject {
  if (isJsonObject(notifications) && isFilter(notifications)) return notifications;
  throw new RpcFault(
    rpcCodes.invalidParams,
    `\`notifications\` of \`subscriptions/listen\` is ${shown(notifications)}; it must be an object that names what to listen to.`,
  );
}

function isFilter({ resourceSubscriptions: uris, ...flags }: JsonObject): boolean {
  const areUris = uris === undefined || (Array.isArray(uris) && uris.every((uri) => typeof uri === "string"));
  return areUris && Object.values(flags).every((flag) => typeof flag === "boolean" || typeof flag === "object");
}

function declares(capabilities: JsonObject, name: string, member: string): boolean {
  const declared = capabilities[name];
  return isJsonObject(declared) && declared[member] === true;
}

/** The lists that this server tells of. */
function honored(filter: JsonObject, capabilities: JsonObject): JsonObject {
  const lists = ["tools", "prompts", "resources"].filter(
    (name) => filter[`${name}ListChanged`] === true && declares(capabilities, name, "listChanged"),
  );
  return Object.fromEntries(lists.map((name) => [`${name}ListChanged`, true]));
}

/** @throws RpcFault for too many */
function urisIn({ resourceSubscriptions: named }: JsonObject, capabilities: JsonObject): readonly string[] {
  if (!Array.isArray(named) || !declares(capabilities, "resources", "subscribe")) return [];
  const uris = [...new Set(named as readonly string[])]; // checked
  if (uris.length <= mostResources) return uris;
  const message = `\`resourceSubscriptions\` names ${uris.length} resources; one request follows at most ${mostResources}.`;
  throw new RpcFault(rpcCodes.invalidParams, message);
}

async function accepted(
  uris: readonly string[],
  subscribe: (uri: string) => Promise<unknown>,
): Promise<readonly string[]> {
  const asked = uris.map(async (uri) => {
    await subscribe(uri);
    return uri;
  });
  return (await Promise.allSettled(asked)).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

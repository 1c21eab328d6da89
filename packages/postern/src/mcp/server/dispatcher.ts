import { isJsonObject, type JsonObject, shown } from "@postern/core";
import { inSentContext } from "@postern/core/tracing";
import { type ClientOfCall, logLevels, type ResourceListener } from "../../call/client-of-call.ts";
import type { ToolIndex } from "../../tools/tool-index.ts";
import { type PeerRequest, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys, newest, oldRevisions } from "../protocol/revisions.ts";
import { callTool } from "./call.ts";
import { followingClient, pushingClient } from "./client-capabilities.ts";
import { type FoundTools, toolSearchName } from "./deferred.ts";
import type { HeldCalls } from "./held-calls.ts";
import { instructionsHere } from "./instructions.ts";
import { inMode, listIn } from "./modes.ts";
import { capabilitiesHere, listed, relayed } from "./relay.ts";
import type { McpRequest, RequestSource } from "./request-source.ts";
import { artifactTemplate, readResource } from "./resources.ts";
import { tasksExtension } from "./rungs.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { ToolCallParts } from "./tasks.ts";
import { relayedAt, serversAt, serversFor } from "./visible-servers.ts";

export interface DispatchParts extends ToolCallParts {
  readonly name: string;
  readonly version: string;
  readonly subscriptions: Subscriptions;
  readonly held: HeldCalls;
  readonly index: ToolIndex;
  readonly found: FoundTools;
}

type McpMethod = (request: McpRequest, parts: DispatchParts) => Promise<object> | object;
/** A method during which the client may be asked. */
type AskingMethod = (request: McpRequest, parts: DispatchParts, client: ClientOfCall) => Promise<object>;

const both = {
  "tools/list": ({ source, isOld }, parts) => ({ tools: listIn(source, isOld, parts) }),
  "resources/list": async ({ source }, parts) => ({ resources: await listed("resources/list", source, parts) }),
  "resources/templates/list": async ({ source }, parts) => ({
    resourceTemplates: [artifactTemplate, ...(await listed("resources/templates/list", source, parts))],
  }),
  "prompts/list": async ({ source }, parts) => ({ prompts: await listed("prompts/list", source, parts) }),
  "tasks/get": (request, parts) => parts.tasks.get(request, parts),
  "tasks/cancel": (request, parts) => parts.tasks.cancel(request, parts),
} as const satisfies Readonly<Record<string, McpMethod>>;

const asking: ReadonlyMap<string, AskingMethod> = new Map<string, AskingMethod>([
  ["tools/call", callInMode],
  ["resources/read", read],
  ["prompts/get", relayed],
  ["completion/complete", relayed],
]);

const ofRevisions: { readonly [revision in "old" | "new"]: ReadonlyMap<string, McpMethod> } = {
  old: new Map<string, McpMethod>([
    ...Object.entries(both),
    ["initialize", initialize],
    ["ping", () => ({})],
    ["resources/subscribe", follow],
    ["resources/unsubscribe", follow],
    ["logging/setLevel", setLevel],
    ["tasks/result", (request, parts) => parts.tasks.result(request, parts)],
  ]),
  new: new Map<string, McpMethod>([
    ...Object.entries(both),
    [
      "server/discover",
      async ({ source }, parts) => ({ supportedVersions: [newest], ...(await described(source, parts, newTasks)) }),
    ],
    ["tasks/update", (request, parts) => parts.tasks.update(request, parts)],
    ["subscriptions/listen", listen],
  ]),
};

/** Results that a client may keep. What is offered depends on the caller, and may change at any time. */
const keepable: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
]);

/** The tools that find others answer here; any other call goes on through the gates. */
async function callInMode(request: McpRequest, parts: DispatchParts, client: ClientOfCall): Promise<object> {
  if (request.source.mode === undefined && request.params["name"] !== toolSearchName)
    return callTool(request, parts, client);
  const meant = await inMode(request, parts);
  return "method" in meant ? callTool(meant as McpRequest, parts, client) : meant;
}

/** Artifacts and pages of tools are Postern's own; any other resource is a server's. */
async function read(request: McpRequest, parts: DispatchParts, client: ClientOfCall): Promise<object> {
  const { params, source } = request;
  const uri = String(params["uri"]);
  const isOwn = /^(?:artifact|ui):/.test(uri) || relayedAt(source.server, parts.runtime).length === 0;
  return isOwn ? readResource(uri, parts.runtime, source) : relayed(request, parts, client);
}

export function hasMethod(method: string, isOld: boolean): boolean {
  return asking.has(method) || ofRevisions[isOld ? "old" : "new"].has(method);
}

/**
 * Answers requests of clients that speak an old revision, or the new one.
 *
 * @throws RpcFault the error to answer with
 */
export function answering(isOld: boolean, parts: DispatchParts) {
  const methods = ofRevisions[isOld ? "old" : "new"];
  const answerTo = async (request: McpRequest, asked: PeerRequest<RequestSource>): Promise<object> => {
    const ask = asking.get(request.method);
    if (ask !== undefined) {
      if (isOld) return ask(request, parts, pushingClient(asked, request.capabilities));
      return parts.held.run(request, async (held, client) => (await ask(held, parts, client)) as JsonObject); // plain JSON
    }
    const answer = methods.get(request.method);
    if (answer === undefined) throw noMethod(request.method);
    return answer(request, parts);
  };
  return async (asked: PeerRequest<RequestSource>) => {
    const { id, method, params: given, context: source, signal, tell } = asked;
    const { _meta: stated, ...params } = given;
    const meta = isJsonObject(stated) ? stated : {};
    const capabilities = isOld ? (source.session?.capabilities ?? {}) : capabilitiesIn(meta);
    const request = { id, method, params, meta, source, isOld, capabilities, signal, tell };
    const result = await inSentContext(meta, () => answerTo(request, asked));
    return isOld ? (result as JsonObject) : finished(method, result as JsonObject, identity(source.server, parts)); // plain JSON, as the protocol has it
  };
}

/** What a client of 2026-07-28 states with each request. */
function capabilitiesIn(meta: JsonObject): JsonObject {
  const stated = meta[metaKeys.clientCapabilities];
  return isJsonObject(stated) ? stated : {};
}

/** A result with what revision 2026-07-28 adds. */
function finished(method: string, result: JsonObject, serverInfo: JsonObject): JsonObject {
  const { _meta: meta } = result;
  return {
    resultType: "complete",
    ...(keepable.has(method) && { ttlMs: 0, cacheScope: "private" }),
    ...result,
    _meta: { [metaKeys.serverInfo]: serverInfo, ...(isJsonObject(meta) && meta) },
  };
}

export function noMethod(method: string): RpcFault {
  return new RpcFault(rpcCodes.methodNotFound, `There is no method \`${method.slice(0, 100).toWellFormed()}\` here.`);
}

/** How each revision announces tasks. */
const oldTasks = { tasks: { cancel: {}, requests: { tools: { call: {} } } } };
const newTasks = { extensions: { [tasksExtension]: {} } };
const tools = { tools: { listChanged: true } };

async function initialize({ params, source }: McpRequest, parts: DispatchParts): Promise<JsonObject> {
  const protocolVersion = oldRevisions.find((revision) => revision === params["protocolVersion"]) ?? oldRevisions[0];
  return {
    ...{ protocolVersion: String(protocolVersion), serverInfo: identity(source.server, parts) },
    ...(await described(source, parts, oldTasks)),
  };
}

async function described(source: RequestSource, parts: DispatchParts, tasks: JsonObject): Promise<JsonObject> {
  const capabilities = { ...tools, ...tasks, ...capabilitiesHere(source, parts) };
  return { capabilities, instructions: await instructionsHere(source, parts.runtime) };
}

/** Begins or ends a subscription of a session. */
function follow(request: McpRequest, parts: DispatchParts): Promise<JsonObject> {
  return relayed(request, parts, followingClient(request.source.session?.listener));
}

function listen(request: McpRequest, parts: DispatchParts): Promise<JsonObject> {
  const subscribe = (uri: string, listener: ResourceListener): Promise<JsonObject> =>
    relayed({ ...request, method: "resources/subscribe", params: { uri }, meta: {} }, parts, followingClient(listener));
  const capabilities = { ...tools, ...capabilitiesHere(request.source, parts) };
  return parts.subscriptions.listen(request, { capabilities, subscribe });
}

async function setLevel({ method, params, source }: McpRequest, parts: DispatchParts): Promise<JsonObject> {
  const { session } = source;
  const logging = serversAt(source.server, parts.runtime).filter(({ features }) => "logging" in features.capabilities);
  if (session === undefined || logging.length === 0) throw noMethod(method);
  const from = logLevels.find((level) => level === params["level"]);
  if (from === undefined)
    throw new RpcFault(
      rpcCodes.invalidParams,
      `\`level\` of \`logging/setLevel\` is ${shown(params["level"])}; it must be one of ${logLevels.join(", ")}.`,
    );
  parts.subscriptions.setLogs(session, from);
  for (const { features } of await serversFor(source, logging, parts.runtime)) void features.askForLogs(from);
  return {};
}

/** @param server the upstream server whose tools are served; undefined: the tools of all */
function identity(server: string | undefined, { name, version }: DispatchParts): JsonObject {
  return server === undefined ? { name, version } : { name: server, title: `${server} (${name})`, version };
}

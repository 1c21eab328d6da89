import { isJsonObject, type JsonObject } from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import { type PeerRequest, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys, newest, oldRevisions } from "../protocol/revisions.ts";
import { callTool } from "./call.ts";
import { pushingClient } from "./client-capabilities.ts";
import type { HeldCalls } from "./held-calls.ts";
import { inMode, listIn } from "./modes.ts";
import { capabilitiesHere, listed, relayed, serversAt } from "./relay.ts";
import type { McpRequest, RequestSource } from "./request-source.ts";
import { artifactTemplate, readResource } from "./resources.ts";
import { tasksExtension } from "./rungs.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { ToolCallParts } from "./tasks.ts";
import type { ToolIndex } from "./tool-index.ts";

export interface DispatchParts extends ToolCallParts {
  readonly name: string;
  readonly version: string;
  readonly subscriptions: Subscriptions;
  readonly held: HeldCalls;
  readonly index: ToolIndex;
}

type McpMethod = (request: McpRequest, parts: DispatchParts) => Promise<object> | object;
/** A method during which the client may be asked. */
type AskingMethod = (request: McpRequest, parts: DispatchParts, client: ClientOfCall) => Promise<object>;

const both = {
  "tools/list": ({ source, isOld }, { runtime }) => ({ tools: listIn(source.mode, runtime, source, isOld) }),
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
    ["tasks/result", (request, parts) => parts.tasks.result(request, parts)],
  ]),
  new: new Map<string, McpMethod>([
    ...Object.entries(both),
    [
      "server/discover",
      ({ source }, parts) => ({ supportedVersions: [newest], ...described(source, parts, newTasks) }),
    ],
    ["tasks/update", (request, parts) => parts.tasks.update(request, parts)],
    ["subscriptions/listen", (request, { subscriptions }) => subscriptions.listen(request, tools)],
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

/** A tool of the endpoint's mode answers here; any other call goes on through the gates. */
async function callInMode(request: McpRequest, parts: DispatchParts, client: ClientOfCall): Promise<object> {
  if (request.source.mode === undefined) return callTool(request, parts, client);
  const meant = await inMode(request, parts);
  return "method" in meant ? callTool(meant as McpRequest, parts, client) : meant;
}

/** Artifacts and pages of tools are Postern's own; any other resource is a server's. */
async function read(request: McpRequest, parts: DispatchParts, client: ClientOfCall): Promise<object> {
  const { params, source } = request;
  const uri = String(params["uri"]);
  const isOwn = /^(?:artifact|ui):/.test(uri) || serversAt(source.server, parts).length === 0;
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
    const capabilities = source.capabilities ?? capabilitiesIn(meta);
    const request = { id, method, params, meta, source, isOld, capabilities, signal, tell };
    const result = await answerTo(request, asked);
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
const instructions =
  "Every tool call passes Postern. A call may need a person's approval: then the result says `approval_pending`; tell the user, and later send the same call again.";

function initialize({ params, source }: McpRequest, parts: DispatchParts): JsonObject {
  const protocolVersion = oldRevisions.find((revision) => revision === params["protocolVersion"]) ?? oldRevisions[0];
  return {
    ...{ protocolVersion: String(protocolVersion), serverInfo: identity(source.server, parts) },
    ...described(source, parts, oldTasks),
  };
}

function described(source: RequestSource, parts: DispatchParts, tasks: JsonObject): JsonObject {
  return { capabilities: { ...tools, ...tasks, ...capabilitiesHere(source, parts) }, instructions };
}

/** @param server the upstream server whose tools are served; undefined: the tools of all */
function identity(server: string | undefined, { name, version }: DispatchParts): JsonObject {
  return server === undefined ? { name, version } : { name: server, title: `${server} (${name})`, version };
}

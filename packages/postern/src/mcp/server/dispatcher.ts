import { isJsonObject, type JsonObject } from "@postern/core";
import { type PeerRequest, RpcFault, rpcCodes } from "../protocol/peer.ts";
import { metaKeys, newest, oldRevisions } from "../protocol/revisions.ts";
import { type CallParts, callTool } from "./call.ts";
import { toolList } from "./offer.ts";
import type { McpRequest, RequestSource } from "./request-source.ts";
import { artifactTemplate, readResource } from "./resources.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface DispatchParts extends CallParts {
  readonly name: string;
  readonly version: string;
  readonly subscriptions: Subscriptions;
}

type Method = (request: McpRequest, parts: DispatchParts) => Promise<object> | object;

const both = {
  "tools/list": ({ source, isOld }, { runtime }) => ({ tools: toolList(runtime, source, isOld) }),
  "tools/call": callTool,
  "resources/list": () => ({ resources: [] }),
  "resources/templates/list": () => ({ resourceTemplates: [artifactTemplate] }),
  "resources/read": ({ params, source }, { runtime }) => readResource(String(params["uri"]), runtime, source),
} as const satisfies Readonly<Record<string, Method>>;

const ofRevisions: { readonly [revision in "old" | "new"]: ReadonlyMap<string, Method> } = {
  old: new Map<string, Method>([...Object.entries(both), ["initialize", initialize], ["ping", () => ({})]]),
  new: new Map<string, Method>([
    ...Object.entries(both),
    ["server/discover", () => ({ supportedVersions: [newest], capabilities, instructions })],
    ["subscriptions/listen", (request, { subscriptions }) => subscriptions.listen(request, capabilities)],
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

export function hasMethod(method: string, isOld: boolean): boolean {
  return ofRevisions[isOld ? "old" : "new"].has(method);
}

/**
 * Answers requests of clients that speak an old revision, or the new one.
 *
 * @throws RpcFault the error to answer with
 */
export function answering(isOld: boolean, parts: DispatchParts) {
  return async ({ id, method, params: given, context: source, signal, tell }: PeerRequest<RequestSource>) => {
    const answer = ofRevisions[isOld ? "old" : "new"].get(method);
    if (answer === undefined) throw noMethod(method);
    const { _meta: stated, ...params } = given;
    const meta = isJsonObject(stated) ? stated : {};
    const result = await answer({ id, method, params, meta, source, isOld, signal, tell }, parts);
    return isOld ? (result as JsonObject) : finished(method, result as JsonObject, identity(source.server, parts)); // plain JSON, as the protocol has it
  };
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

const capabilities = { tools: { listChanged: true }, resources: {} };
const instructions =
  "Every tool call passes Postern. A call may need a person's approval: then the result says `approval_pending`; tell the user, and later send the same call again.";

function initialize({ params, source }: McpRequest, parts: DispatchParts): JsonObject {
  const protocolVersion = oldRevisions.find((revision) => revision === params["protocolVersion"]) ?? oldRevisions[0];
  return {
    protocolVersion: String(protocolVersion),
    capabilities,
    instructions,
    serverInfo: identity(source.server, parts),
  };
}

/** @param server the upstream server whose tools are served; undefined: the tools of all */
function identity(server: string | undefined, { name, version }: DispatchParts): JsonObject {
  return server === undefined ? { name, version } : { name: server, title: `${server} (${name})`, version };
}

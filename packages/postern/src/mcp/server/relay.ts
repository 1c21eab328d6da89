/** Resources, prompts and completions of upstream servers: lists are read, everything else is one call through the gates. */
import { isJsonObject, type Json, type JsonObject, type ToolOutcome } from "@postern/core";
import type { ClientOfCall } from "../../call/client-of-call.ts";
import { isStandIn } from "../../results/cut.ts";
import { openRequestOf } from "../../results/render.ts";
import { collected } from "../../results/streams.ts";
import { featuresIn } from "../client/server-features.ts";
import { actionOf, requestsToolName } from "../client/server-requests.ts";
import { RpcFault, rpcCodes } from "../protocol/peer.ts";
import { type CallParts, callOptions, sessionOf } from "./call-parts.ts";
import type { McpRequest, RequestSource } from "./request-source.ts";
import { nameHere, relayedAt, serversAt, serversFor } from "./visible-servers.ts";

const lists = {
  "resources/list": { items: "resources", capability: "resources", named: "uri" },
  "resources/templates/list": { items: "resourceTemplates", capability: "resources", named: "uriTemplate" },
  "prompts/list": { items: "prompts", capability: "prompts", named: "name" },
} as const;

type ListMethod = keyof typeof lists;

/** The items of this list of all servers at the endpoint that the caller may ask. A server that fails adds none. */
export async function listed(
  method: ListMethod,
  source: RequestSource,
  parts: CallParts,
): Promise<readonly JsonObject[]> {
  const { items, capability, named } = lists[method];
  const declared = relayedAt(source.server, parts.runtime).filter(({ features }) =>
    isJsonObject(features.capabilities[capability]),
  );
  const found = await serversFor(source, declared, parts.runtime);
  const pages = await Promise.all(
    found.map(async ({ server, features }) => {
      const own = await features.list(method, items).catch((): readonly JsonObject[] => []);
      return own.map((item) => ({ ...item, [named]: nameHere(String(item[named]), named, server, source) }));
    }),
  );
  return pages.flat();
}

/** What the servers at an endpoint have beside tools, as this server's own capabilities. */
export function capabilitiesHere({ server }: RequestSource, parts: CallParts): JsonObject {
  const all = serversAt(server, parts.runtime).map(({ features }) => features.capabilities);
  const has = (name: string): boolean => all.some((one) => one[name] !== undefined);
  const members = (name: string, ...wanted: readonly string[]): JsonObject =>
    Object.fromEntries(
      wanted
        .filter((member) => all.some(({ [name]: one }) => isJsonObject(one) && one[member] === true))
        .map((member) => [member, true]),
    );
  return {
    resources: members("resources", "subscribe", "listChanged"),
    ...(has("prompts") && { prompts: members("prompts", "listChanged") }),
    ...(has("completions") && { completions: {} }),
    ...(has("logging") && { logging: {} }),
  };
}

/**
 * One request as a call of its server.
 *
 * @throws RpcFault the server's own error, or why it was not asked
 */
export async function relayed(request: McpRequest, parts: CallParts, client: ClientOfCall): Promise<JsonObject> {
  const { method, params, source } = request;
  const ref = isJsonObject(params["ref"]) ? params["ref"] : {};
  const isPrompt = method === "prompts/get" || ref["type"] === "ref/prompt";
  const named = isPrompt ? "name" : "uri";
  const value = String(params[named] ?? ref[named] ?? "");
  const target = relayTarget(value, named, source, parts);
  if (target === undefined)
    throw new RpcFault(
      rpcCodes.invalidParams,
      `There is no ${isPrompt ? "prompt" : "resource"} \`${value.slice(0, 200)}\` here; send it as \`${isPrompt ? "prompts" : "resources"}/list\` names it.`,
    );
  const { server, own } = target;
  const given: JsonObject = {
    ...params,
    ...(params[named] !== undefined && { [named]: own }),
    ...(params["ref"] !== undefined && { ref: { ...ref, [named]: own } }),
  };
  const call = { tool: requestsToolName(server), action: actionOf.get(method) ?? "", arguments: given };
  const outcome = await sessionOf(source, parts, (session) =>
    session.invoke(call, { ...callOptions(request, client), patience: "wait", approvalWaitMs: parts.approvalWaitMs }),
  );
  // The earlier call that answered this one was of another listener.
  if (outcome.status === "ok" && outcome.replayed === true && client.listener !== undefined)
    await featuresIn(parts.runtime.tools).get(server)?.repeat(method, own, client, source.caller.principal);
  return withNamesHere(await resultOf(outcome, request, parts), server, source);
}

async function resultOf(outcome: ToolOutcome, { source }: McpRequest, { runtime }: CallParts): Promise<JsonObject> {
  if (outcome.status === "ok" && isStandIn(outcome) && outcome.artifact !== undefined) {
    const { chunks } = await runtime.readArtifact(outcome.artifact, source.caller.principal);
    const whole = JSON.parse(Buffer.from(await collected(chunks)).toString("utf8")) as Json; // Postern wrote it
    const structured = isJsonObject(whole) ? (whole["structured"] ?? whole) : {};
    return isJsonObject(structured) ? structured : {};
  }
  if (outcome.status === "ok") return isJsonObject(outcome.structured) ? outcome.structured : {};
  const details = outcome.refusal?.details;
  const error = isJsonObject(details) ? details["rpc_error"] : undefined;
  if (isJsonObject(error)) throw new RpcFault(Number(error["code"]), String(error["message"]), error["data"]);
  throw new RpcFault(rpcCodes.invalidRequest, outcome.text, {
    status: openRequestOf(outcome) === undefined ? outcome.status : "approval_pending",
    code: outcome.refusal?.code ?? "",
    ...(outcome.approvalId !== undefined && { approval_id: outcome.approvalId }),
  });
}

/** The links of a result, as they are read at this endpoint. */
function withNamesHere(result: JsonObject, server: string, source: RequestSource): JsonObject {
  if (source.server !== undefined) return result;
  const { contents, messages } = result;
  return {
    ...result,
    ...(Array.isArray(contents) && { contents: contents.map((one) => withUri(one as Json, server, source)) }),
    ...(Array.isArray(messages) && {
      messages: messages.map((message) =>
        isJsonObject(message) ? { ...message, content: linkHere(message["content"] as Json, server, source) } : message,
      ),
    }),
  };
}

/** A block with a link to a resource of the server. Links that every client can follow by itself, and Postern's own, stay. */
export function linkHere(block: Json, server: string, source: RequestSource): Json {
  if (!isJsonObject(block)) return block;
  const { type, uri, resource } = block;
  if (type === "resource_link" && !everywhere.test(String(uri))) return withUri(block, server, source);
  if (type !== "resource" || !isJsonObject(resource) || everywhere.test(String(resource["uri"]))) return block;
  return { ...block, resource: withUri(resource, server, source) };
}

const everywhere = /^(?:https?|artifact|ui):/i;

function withUri(value: Json, server: string, source: RequestSource): Json {
  if (!isJsonObject(value) || typeof value["uri"] !== "string") return value;
  return { ...value, uri: nameHere(value["uri"], "uri", server, source) };
}

interface RelayTarget {
  readonly server: string;
  /** The server's own name. */
  readonly own: string;
}

/** Finds the server by comparing names. */
function relayTarget(
  value: string,
  named: "name" | "uri",
  source: RequestSource,
  parts: CallParts,
): RelayTarget | undefined {
  const here = relayedAt(source.server, parts.runtime);
  if (source.server !== undefined) return here.length === 0 ? undefined : { server: source.server, own: value };
  const mark = named === "name" ? "__" : "+";
  const found = here.find(({ server }) => value.startsWith(server + mark));
  return found && { server: found.server, own: value.slice(found.server.length + mark.length) };
}

import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isJsonObject, type Json, type JsonObject } from "../../core/json.ts";

/** Without members that are null. */
export function withoutNulls(value: JsonObject): JsonObject {
  return Object.values(value).includes(null)
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
    : value;
}

/** Without members that are null, at every depth. */
export function withoutNullsInside(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNullsInside);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(withoutNulls(value)).map(([name, member]) => [name, withoutNullsInside(member)]),
  );
}

/**
 * A server's message without the optional members that are null: of what the protocol defines, never of a tool's own data
 * (`structuredContent`, `_meta`).
 */
export function withoutNullMembers<Message extends JSONRPCMessage>(message: Message): Message {
  if ("method" in message) {
    const { params, ...rest } = message as { readonly params?: Json };
    return (
      params === undefined ? message : params === null ? rest : { ...message, params: cleaned(params) }
    ) as Message; // the same message
  }
  return ("result" in message ? { ...message, result: cleaned(message.result as Json) } : message) as Message; // the same message
}

function cleaned(value: Json): Json {
  if (!isJsonObject(value)) return value;
  const { content, capabilities, serverInfo, ...rest } = withoutNulls(value);
  return {
    ...rest,
    ...(content !== undefined && { content: Array.isArray(content) ? content.map(blockOf) : content }),
    ...(capabilities !== undefined && { capabilities: withoutNullsInside(capabilities) }),
    ...(serverInfo !== undefined && { serverInfo: withoutNullsInside(serverInfo) }),
  };
}

function blockOf(block: Json): Json {
  if (!isJsonObject(block)) return block;
  const { annotations, resource, ...rest } = withoutNulls(block);
  return {
    ...rest,
    ...(annotations !== undefined && { annotations: withoutNullsInside(annotations) }),
    ...(resource !== undefined && { resource: isJsonObject(resource) ? withoutNulls(resource) : resource }),
  };
}

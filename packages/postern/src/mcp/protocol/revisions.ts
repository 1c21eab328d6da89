import { isJsonObject, type Json, type JsonObject } from "@postern/core";

/** Newest first. */
export const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export type Revision = (typeof revisions)[number];

/** The first revision without sessions: each request states its revision and what its client can do. */
export const newest: Revision = revisions[0];

/** Revisions that begin with `initialize`. */
export const oldRevisions: readonly Revision[] = revisions.slice(1);

/** Members of `_meta` that belong to one connection, not to the tool. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The members of `_meta` that are for the other side, too: not those of this connection, the protocol and Postern. */
export function ownMeta(stated: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(stated)) return undefined;
  const own = Object.entries(stated).filter(
    ([name]) => name !== "progressToken" && !/^(?:postern|io\.modelcontextprotocol)\//.test(name),
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

/** The members, and of `_meta` what is for the other side. */
export function withOwnMeta({ _meta: stated, ...own }: JsonObject): JsonObject {
  const meta = ownMeta(stated);
  return meta === undefined ? own : { ...own, _meta: meta };
}

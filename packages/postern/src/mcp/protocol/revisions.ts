import { isJsonObject, type JsonObject } from "@postern/core";

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

/** The members without those of `_meta` that belong to the connection. */
export function withOwnMeta({ _meta: stated, ...own }: JsonObject): JsonObject {
  const meta = Object.entries(isJsonObject(stated) ? stated : {}).filter(
    ([key]) => !key.startsWith("io.modelcontextprotocol/"),
  );
  return meta.length === 0 ? own : { ...own, _meta: Object.fromEntries(meta) };
}

import type { ClientOptions, DiscoverResult, PriorDiscovery } from "@modelcontextprotocol/client";
import { RuntimeFault } from "../../core/fault.ts";

/** New to old. */
export const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export type Revision = (typeof revisions)[number];

const newest = revisions[0];

/** What is known of a server whose revision stands in the configuration: it is not asked. */
export function priorOf(revision: Revision | undefined): PriorDiscovery | undefined {
  if (revision === undefined) return undefined;
  return revision === newest ? { kind: "modern", discover: assumed } : { kind: "legacy" };
}

/** The revision that `initialize` offers is the first of the old ones in this list. */
export function versionsOf(revision: Revision | undefined): ClientOptions["supportedProtocolVersions"] {
  if (revision === undefined || revision === newest) return undefined;
  return [revision, ...revisions.filter((other) => other !== revision)];
}

/** @throws RuntimeFault `server_invalid` */
export function checkRevision(server: string, revision: unknown): void {
  if (revision === undefined || revisions.some((known) => known === revision)) return;
  throw new RuntimeFault(
    "server_invalid",
    `Server \`${server}\`: \`revision\` is ${JSON.stringify(revision) ?? "no text"}; write one of ${revisions.join(", ")}.`,
  );
}

const assumed: DiscoverResult = {
  supportedVersions: [newest],
  capabilities: { tools: { listChanged: true } },
  ttlMs: 0,
  cacheScope: "private",
} as DiscoverResult; // what the SDK reads of it

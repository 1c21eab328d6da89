import type { ClientOptions, DiscoverResult, PriorDiscovery } from "@modelcontextprotocol/client";
import type { Clock } from "@postern/core";

/** Newest first. */
export const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
export type Revision = (typeof revisions)[number];

const newest = revisions[0];

/** What the SDK assumes of a server whose revision is configured: the server is not asked. */
export function priorOf(revision: Revision | undefined): PriorDiscovery | undefined {
  if (revision === undefined) return undefined;
  return revision === newest ? { kind: "modern", discover: assumed } : { kind: "legacy" };
}

/** The revision that `initialize` offers is the first old one in this list. */
export function versionsOf(revision: Revision | undefined): ClientOptions["supportedProtocolVersions"] {
  if (revision === undefined || revision === newest) return undefined;
  return [revision, ...revisions.filter((other) => other !== revision)];
}

const assumed: DiscoverResult = {
  supportedVersions: [newest],
  capabilities: { tools: { listChanged: true } },
  ttlMs: 0,
  cacheScope: "private",
} as DiscoverResult; // the members that the SDK reads

/** A server that spoke an old revision may learn the new one, so it is asked again after this time. */
const lifeMs = 3_600_000;

/** What one server spoke last time. It saves a round trip at the next connection, and over pipes a second process. */
export class SpokenRevision {
  readonly #onKept: (isOld: boolean) => void;
  #prior: PriorDiscovery | undefined;
  #atMs = 0;
  #isKnown = false;
  /** The last connection was over HTTP+SSE. */
  speaksSse = false;

  /** @param onKept called with whether the server speaks only old revisions, each time that is found out */
  constructor(onKept: (isOld: boolean) => void = () => {}) {
    this.#onKept = onKept;
  }

  /** Something is known, from this process or an earlier one. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Takes over what an earlier process found out. */
  assumeOld(clock: Clock): void {
    this.#set({ kind: "legacy" }, clock);
  }

  recall(clock: Clock): PriorDiscovery | undefined {
    return clock.monotonic() - this.#atMs > lifeMs ? undefined : this.#prior;
  }

  keep(prior: PriorDiscovery | undefined, clock: Clock): void {
    this.#set(prior, clock);
    this.#onKept(prior?.kind === "legacy");
  }

  #set(prior: PriorDiscovery | undefined, clock: Clock): void {
    this.#prior = prior;
    this.#isKnown = true;
    this.#atMs = clock.monotonic();
  }
}

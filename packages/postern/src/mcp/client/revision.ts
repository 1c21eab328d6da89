import type { Clock, JsonObject } from "@postern/core";
import { newest, type Revision, revisions } from "../protocol/revisions.ts";

export { type Revision, revisions };

/** What is known of a server before it is connected: that it speaks an old revision, or what it answered about itself. */
export type KnownServer =
  | { readonly isOld: true }
  | {
      readonly isOld: false;
      /** The result of `server/discover`. */
      readonly discovered: JsonObject;
    };

/** A server that is configured to speak an old revision is not asked: some exit when they are. */
export function configuredAs(revision: Revision | undefined): KnownServer | undefined {
  return revision === undefined || revision === newest ? undefined : { isOld: true };
}

/** What a server is that does not say. It may have less than assumed: its lists then fail, and add nothing. */
export function assumedOf(revision: Revision | undefined): KnownServer {
  return revision === newest ? { isOld: false, discovered: assumed } : { isOld: true };
}

const assumed: JsonObject = {
  supportedVersions: [newest],
  capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, completions: {} },
};

/** A server that spoke an old revision may learn the new one, so it is asked again after this time. */
const lifeMs = 3_600_000;

/** What one server spoke last time. It saves a round trip at the next connection, and over pipes a second process. */
export class SpokenRevision {
  readonly #onKept: (isOld: boolean) => void;
  #known: KnownServer | undefined;
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
    this.#set({ isOld: true }, clock);
  }

  recall(clock: Clock): KnownServer | undefined {
    return clock.monotonic() - this.#atMs > lifeMs ? undefined : this.#known;
  }

  keep(known: KnownServer | undefined, clock: Clock): void {
    this.#set(known, clock);
    this.#onKept(known?.isOld === true);
  }

  #set(known: KnownServer | undefined, clock: Clock): void {
    this.#known = known;
    this.#isKnown = true;
    this.#atMs = clock.monotonic();
  }
}

import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";

/** A verdict "old protocol" succeeds for ever, also after the server learned the new one: it is asked again after this. */
const verdictLifeMs = 3_600_000;

/** What one server spoke last time: saves a round trip, and over pipes a second process, when it is connected again. */
export class SpokenProtocol {
  readonly #keep: (isOld: boolean) => void;
  #prior: PriorDiscovery | undefined;
  #atMs = 0;
  #isMade = false;
  /** It was last connected over HTTP+SSE. */
  speaksSse = false;

  /** @param keep told of every verdict: whether the server speaks the old protocol */
  constructor(keep: (isOld: boolean) => void = () => {}) {
    this.#keep = keep;
  }

  /** Something is known: by this process, or from before. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** As it was known before this process. */
  assumeOld(clock: Clock): void {
    this.#prior = { kind: "legacy" };
    this.#isMade = true;
    this.#atMs = clock.monotonic();
  }

  recall(clock: Clock): PriorDiscovery | undefined {
    return clock.monotonic() - this.#atMs > verdictLifeMs ? undefined : this.#prior;
  }

  keep(prior: PriorDiscovery | undefined, clock: Clock): void {
    this.#prior = prior;
    this.#isMade = true;
    this.#atMs = clock.monotonic();
    this.#keep(prior?.kind === "legacy");
  }
}

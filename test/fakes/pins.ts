import type { Clock } from "../../src/core/clock.ts";
import { Pins } from "../../src/mcp/client/pins.ts";
import { createRedactor } from "../../src/secrets/redactor.ts";
import type { Store } from "../../src/store/store.ts";
import { aLogStore } from "./log-store.ts";

/** Returns the pins of a new store or of the given one. */
export function somePins(clock: Clock, store: Store = aLogStore(clock)): Pins {
  return new Pins({ store, clock, policyVersion: "p1", redactor: createRedactor(), log: () => {} });
}

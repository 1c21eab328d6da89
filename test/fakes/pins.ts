import type { Clock } from "../../src/calls/clock.ts";
import { createRedactor } from "../../src/secrets/redactor.ts";
import type { Store } from "../../src/stores/store.ts";
import { Pins } from "../../src/tools/upstream/pins.ts";
import { aLogStore } from "./log-store.ts";

/** Pins of their own, or those of a store. */
export function somePins(clock: Clock, store: Store = aLogStore(clock)): Pins {
  return new Pins({ store, clock, policyVersion: "p1", redactor: createRedactor(), log: () => {} });
}

import type { Clock } from "../../packages/core/src/clock.ts";
import { Pins } from "../../packages/postern/src/mcp/client/pins.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { aLogStore } from "./log-store.ts";

/** Returns the pins of a new store or of the given one. */
export function somePins(clock: Clock, store: Store = aLogStore(clock)): Pins {
  return new Pins({ store, clock, policy: { version: "p1" }, redactor: createRedactor(), log: () => {} });
}

import { type CallEvent, copyOf, deepFrozen, type Weighing } from "@postern/core";
import { dataOf } from "../call/arrival.ts";

/** Outside watchers get an event as frozen data, so they can change neither a call nor a record. */
export function shownEvent(event: CallEvent): CallEvent {
  if (event.moment === "noted")
    return deepFrozen({ ...event, ...(event.data !== undefined && { data: copyOf(event.data) }) });
  const call = Object.freeze(dataOf(event.call)); // what is in it is frozen where it is made
  if (event.moment === "emitted") return deepFrozen({ ...event, call });
  if (!("weighing" in event) || event.weighing === undefined) return Object.freeze({ ...event, call });
  return Object.freeze({ ...event, call, weighing: shownWeighing(event.weighing) });
}

/** A policy of the user's own may keep the object that it answered with. */
function shownWeighing(weighing: Weighing): Weighing {
  return Object.isFrozen(weighing) ? weighing : deepFrozen(structuredClone(weighing));
}

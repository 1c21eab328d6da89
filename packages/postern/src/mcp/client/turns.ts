import { setImmediate } from "node:timers/promises";

/** The event loop is the process's own, so its turns are shared by all servers. */
let last: Promise<void> = Promise.resolve();

/** Resolves in a turn of the event loop that no other caller was given, so that calls go on while many servers are listed. */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}

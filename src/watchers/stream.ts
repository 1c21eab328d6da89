import type { Announce, CallEvent } from "../calls/event.ts";
import { messageOf } from "../calls/fault.ts";
import type { Watcher } from "./watcher.ts";

export interface Stream {
  readonly announce: Announce;
  /** Every moment from now on, in order, until disposed. Watching twice is being told twice. */
  watch(watcher: Watcher): Disposable;
}

/**
 * One stream, many watchers, each told in the same order. What a watcher throws, now or as a rejected promise, goes to `log`
 * and nowhere else (D14).
 *
 * @param log throws nothing (calls/harmless-log.ts)
 */
export function createStream(log: (problem: string) => void): Stream {
  let seats: readonly { readonly watcher: Watcher }[] = [];
  /** What happened while a moment was told: a watcher may make the next one. */
  const untold: CallEvent[] = [];
  let isTelling = false;

  const complain = (event: CallEvent, error: unknown): void => {
    log(`A watcher failed at \`${event.moment}\`: ${messageOf(error)}.`);
  };
  const tell = (watcher: Watcher, event: CallEvent): void => {
    try {
      const answer: unknown = watcher(event);
      if (answer instanceof Promise) answer.catch((error: unknown) => complain(event, error));
    } catch (error) {
      complain(event, error);
    }
  };

  return {
    announce: (event) => {
      if (isTelling) {
        untold.push(event);
        return;
      }
      isTelling = true;
      for (let next: CallEvent | undefined = event; next !== undefined; next = untold.shift()) {
        // `seats` is replaced, never changed: who comes or goes while a moment is told is not in this round.
        for (const { watcher } of seats) tell(watcher, next);
      }
      isTelling = false;
    },
    watch: (watcher) => {
      const seat = { watcher };
      seats = [...seats, seat];
      return {
        [Symbol.dispose]: () => {
          seats = seats.filter((other) => other !== seat);
        },
      };
    },
  };
}

import { type Announce, type CallEvent, messageOf, type Watcher } from "@postern/core";

export interface Stream {
  readonly announce: Announce;
  /** Calls the watcher with every moment from now on, in order, until disposed. */
  watch(watcher: Watcher): Disposable;
}

/**
 * One stream, many watchers, always called in the same order. What a watcher throws, also as a rejected promise, goes only
 * to `log`.
 *
 * @param log throws nothing (core/system/harmless-log.ts)
 */
export function createStream(log: (problem: string) => void): Stream {
  let watchers: readonly { readonly watcher: Watcher }[] = [];
  /** Moments that a watcher caused while another one was announced. */
  const waiting: CallEvent[] = [];
  let isAnnouncing = false;

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
      if (isAnnouncing) {
        waiting.push(event);
        return;
      }
      isAnnouncing = true;
      for (let next: CallEvent | undefined = event; next !== undefined; next = waiting.shift()) {
        // `watchers` is replaced, never changed, so watchers that are added or removed now do not change this round.
        for (const { watcher } of watchers) tell(watcher, next);
      }
      isAnnouncing = false;
    },
    watch: (watcher) => {
      const entry = { watcher };
      watchers = [...watchers, entry];
      return {
        [Symbol.dispose]: () => {
          watchers = watchers.filter((other) => other !== entry);
        },
      };
    },
  };
}

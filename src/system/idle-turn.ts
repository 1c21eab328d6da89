/** For each moment of the loop that such work takes, others have so many, where they want them. */
const momentsOfOthers = 39;
/** A turn of the loop in which nobody does anything takes a few microseconds. */
const emptyTurnMs = 0.05;
/** What others do in several steps has short turns among them. */
const emptyTurns = 4;

const waiting: (() => void)[] = [];
let isWatching = false;
/** When the last turn was left to others. */
let leftAt = 0;
let empty = 0;
let begunAt: number | undefined;
/** In the turn behind a piece comes what it had put off, a commit above all: that counts as its own, up to as long again. */
let behindMs = 0;
/** From then on others have had their share. */
let dueAt = 0;

/**
 * A turn of the loop for work that gives way to all else in this process: one piece of it at a time, in the order in which
 * it was asked for. At once where the loop is idle; where it is busy, such work has a fortieth of it, what it puts off included,
 * all of it together; never less than an eightieth.
 *
 * Keep a piece short: whoever comes meanwhile waits for all of it.
 */
export function idleTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (isWatching) return;
    isWatching = true;
    empty = 0;
    watch();
  });
}

/** Two of the same turn: what the first lets begin is over when the second is called. */
function watch(): void {
  setImmediate(begin);
  setImmediate(end);
}

function begin(): void {
  const now = performance.now();
  const sinceMs = now - leftAt;
  dueAt += (1 + momentsOfOthers) * Math.min(sinceMs, behindMs);
  behindMs = 0;
  empty = sinceMs < emptyTurnMs ? empty + 1 : 0;
  if (now < dueAt && empty < emptyTurns) return;
  begunAt = now;
  waiting.shift()?.();
}

function end(): void {
  leftAt = performance.now();
  if (begunAt !== undefined) {
    behindMs = leftAt - begunAt;
    dueAt = leftAt + momentsOfOthers * behindMs;
    empty = 0;
  }
  begunAt = undefined;
  if (waiting.length > 0) watch();
  else isWatching = false;
}

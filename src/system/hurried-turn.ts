/** On a loop that is busy, so much lies between the beginnings of two pieces of such work, whosever they are. */
const spacingMs = 1;
/** A loop that has slept so long since the last piece is not busy. */
const sleptMs = 0.02;
/** Nor is one with so many turns in a row in which nobody did anything, which takes a few microseconds. */
const emptyTurns = 4;
const emptyTurnMs = 0.05;

const waiting: (() => void)[] = [];
let begunAt = Number.NEGATIVE_INFINITY;
/** How long the loop had slept until then. */
let sleptBefore = 0;
let lookedAt = 0;
let empty = 0;

/**
 * A turn of the loop for a short piece of work that is in a hurry and comes often: at once (undefined) where the loop is idle,
 * and where it is busy one in a millisecond, in the order in which they were asked for, so that nobody's work meets two of them.
 */
export function hurriedTurn(): Promise<void> | undefined {
  const now = performance.now();
  if (waiting.length === 0 && mayBegin(now)) return undefined;
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length > 1) return;
    lookedAt = now;
    empty = 0;
    setImmediate(look);
  });
}

function mayBegin(now: number): boolean {
  const slept = performance.nodeTiming.idleTime;
  if (now - begunAt < spacingMs && slept - sleptBefore < sleptMs) return false;
  begin(now, slept);
  return true;
}

function begin(now: number, slept: number): void {
  begunAt = now;
  sleptBefore = slept;
  empty = 0;
}

function look(): void {
  const now = performance.now();
  empty = now - lookedAt < emptyTurnMs ? empty + 1 : 0;
  lookedAt = now;
  if (now - begunAt >= spacingMs || empty >= emptyTurns) {
    begin(now, performance.nodeTiming.idleTime);
    waiting.shift()?.();
  }
  if (waiting.length > 0) setImmediate(look);
}

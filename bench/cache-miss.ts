/**
 * What it takes to load what a script's host and its sandbox have between them: more than the 1 MB that a processor has for
 * itself, less than what processors of one socket share. Where others have that, code that was not used just now is slow.
 */
const megabytes = 4;
const lineBytes = 64;
const loads = 3_000_000;

/** Nanoseconds a load, each from where the one before has told. The best of three. */
export function cacheMissNanoseconds(): number {
  const next = shuffledRound((megabytes * 2 ** 20) / lineBytes);
  follow(next, loads / 10);
  const tries = [1, 2, 3].map(() => {
    const began = performance.now();
    follow(next, loads);
    return ((performance.now() - began) / loads) * 1e6;
  });
  return Math.min(...tries);
}

function follow(next: Int32Array, times: number): number {
  let at = 0;
  for (let i = 0; i < times; i += 1) at = next[at] ?? 0;
  return at;
}

/** A round over all lines, in an order that nothing foresees. */
function shuffledRound(lines: number): Int32Array {
  const places = lineBytes / Int32Array.BYTES_PER_ELEMENT;
  const order = Array.from({ length: lines }, (_, line) => line * places);
  for (let i = lines - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  const next = new Int32Array(lines * places);
  order.forEach((line, i) => {
    next[line] = order[(i + 1) % lines] ?? 0;
  });
  return next;
}

/**
 * The time of the server, whose clock decides when a request ends. It is estimated from the `Date` header of each answer.
 *
 * Invariant: this computer's clock is used as long as it can be right, and otherwise corrected by as little as possible.
 */
const secondMs = 1_000;

/** How far this clock is behind, in milliseconds: between these two. */
interface Behind {
  readonly least: number;
  readonly most: number;
}

let behind: Behind = { least: -Infinity, most: Infinity };

/** @param date header of an answer, made between `sentMs` and `receivedMs` of the clock here */
export function noteServerTime(date: string | null, sentMs: number, receivedMs: number): void {
  const madeMs = Date.parse(date ?? "");
  if (Number.isNaN(madeMs)) return;
  behind = narrowed(behind, { least: madeMs - receivedMs, most: madeMs + secondMs - sentMs });
}

export function serverNow(): number {
  return Date.now() + correction(behind);
}

/** When the two contradict each other, a clock was set meanwhile, and only the newer one counts. */
export function narrowed(known: Behind, latest: Behind): Behind {
  const least = Math.max(known.least, latest.least);
  const most = Math.min(known.most, latest.most);
  return least <= most ? { least, most } : latest;
}

export function correction({ least, most }: Behind): number {
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

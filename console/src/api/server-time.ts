/**
 * What time it is for the server, whose clock decides when a request ends: read off the `Date` of each of its answers.
 *
 * Invariant: a clock here that can be right is believed; one that cannot is put right by as little as explains it.
 */
const secondMs = 1_000;

/** What this clock may be behind by, milliseconds: between these. */
interface Behind {
  readonly least: number;
  readonly most: number;
}

let behind: Behind = { least: -Infinity, most: Infinity };

/** @param date of an answer: the second it was made in @param sentMs @param heardMs by the clock here: it was made between them */
export function hearTime(date: string | null, sentMs: number, heardMs: number): void {
  const madeMs = Date.parse(date ?? "");
  if (Number.isNaN(madeMs)) return;
  behind = narrowed(behind, { least: madeMs - heardMs, most: madeMs + secondMs - sentMs });
}

/** Wall clock of the server, milliseconds. */
export function serverNow(): number {
  return Date.now() + correction(behind);
}

/** Where the two do not fit together a clock was set since, and what was known of it is void. */
export function narrowed(known: Behind, heard: Behind): Behind {
  const least = Math.max(known.least, heard.least);
  const most = Math.min(known.most, heard.most);
  return least <= most ? { least, most } : heard;
}

export function correction({ least, most }: Behind): number {
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

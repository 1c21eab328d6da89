const quote = 0x22;
const backslash = 0x5c;

/**
 * Where a text of JSON ends: the place of its last quote, looked for from one behind its first. Not in this part: as long as
 * the part is, or one more where it ends in the middle of an escape, whose rest is the next one's first byte.
 */
export function textEnd(part: Buffer, from: number): number {
  for (let at = from; ; at += 1) {
    const found = part.indexOf(quote, at);
    at = found === -1 ? part.length : found;
    let before = at;
    while (before > from && part[before - 1] === backslash) before -= 1;
    const isEscaped = (at - before) % 2 === 1;
    if (found === -1) return isEscaped ? at + 1 : Math.max(at, from);
    if (!isEscaped) return at;
  }
}

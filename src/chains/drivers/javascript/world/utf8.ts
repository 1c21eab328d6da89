/** UTF-8, both ways: the engine has none of its own. */

export function encodeText(text: string): Uint8Array<ArrayBuffer> {
  const binary = unescape(encodeURIComponent(text.toWellFormed()));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

/** What is no UTF-8 becomes U+FFFD, as often as the encoding standard says. */
export function decodeBytes(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; ) {
    const { point, length } = pointAt(bytes, at);
    text += String.fromCodePoint(point);
    at += length;
  }
  return text;
}

/** Whether decoding would lose something. */
export function isText(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    const { valid, length } = pointAt(bytes, at);
    if (!valid) return false;
    at += length;
  }
  return true;
}

interface Point {
  readonly point: number;
  readonly length: number;
  readonly valid: boolean;
}

const broken = 0xfffd;

function pointAt(bytes: Uint8Array, at: number): Point {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { point: first, length: 1, valid: true };
  const more =
    first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
  let point = first & (0x3f >> more);
  for (let n = 1; n <= more; n += 1) {
    const next = bytes[at + n];
    const [least, most] = n === 1 ? secondOf(first) : [0x80, 0xbf];
    if (next === undefined || next < least || next > most) return { point: broken, length: n, valid: false };
    point = (point << 6) | (next & 0x3f);
  }
  return more === 0 ? { point: broken, length: 1, valid: false } : { point, length: more + 1, valid: true };
}

/** Neither longer than it need be, nor half a surrogate pair, nor beyond Unicode. */
function secondOf(first: number): readonly [number, number] {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  return first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf];
}

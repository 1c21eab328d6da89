/** Hosts of URLs: names, in punycode where they need it, and addresses in their shortest form. */
import { percentDecoded, percentEncoded } from "./query.ts";

/** @throws Error for what is no host */
export function hostOf(given: string, special: boolean): string {
  if (given.startsWith("[")) return `[${sixOf(given.slice(1, -1))}]`;
  if (!special) {
    if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(given)) throw new Error("no host");
    return percentEncoded(given, /[^\p{Cc}\x80-\u{10ffff}]/u);
  }
  const name = percentDecoded(given)
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\u3002\uff0e\uff61]/g, ".");
  const ascii = name.split(".").map(asciiOf).join(".");
  if (ascii === "" || /[\p{Cc} #%/:<>?@[\\\]^|]/u.test(ascii)) throw new Error("no host");
  return /(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$/.test(ascii) ? fourOf(ascii) : ascii;
}

function fourOf(text: string): string {
  const parts = text.replace(/\.$/, "").split(".");
  const numbers = parts.map((part) => {
    if (/^0x[0-9a-f]*$/.test(part)) return Number.parseInt(part.slice(2) || "0", 16);
    if (/^0[0-7]+$/.test(part)) return Number.parseInt(part, 8);
    return /^(?:0|[1-9]\d*)$/.test(part) ? Number(part) : Number.NaN;
  });
  const last = numbers.at(-1) ?? Number.NaN;
  const isWrong = numbers.length > 4 || numbers.slice(0, -1).some((number) => !(number < 256));
  if (isWrong || !(last < 256 ** (5 - numbers.length))) throw new Error("no address");
  const whole = numbers.slice(0, -1).reduce((sum, number, n) => sum + number * 256 ** (3 - n), last);
  return [24, 16, 8, 0].map((bits) => Math.floor(whole / 2 ** bits) % 256).join(".");
}

function sixOf(text: string): string {
  const four = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const [a = 0, b = 0, c = 0, d = 0] = four === null ? [] : checkedFour(four[2] ?? "");
  const plain = four === null ? text : `${four[1]}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  const halves = plain.split("::");
  if (halves.length > 2) throw new Error("no address");
  const [head = [], tail = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 1) throw new Error("no address");
  const pieces = [...head, ...Array<string>(Math.max(0, missing)).fill("0"), ...tail];
  if (!pieces.every((piece) => /^[0-9a-f]{1,4}$/i.test(piece))) throw new Error("no address");
  return shortest(pieces.map((piece) => Number.parseInt(piece, 16).toString(16)));
}

function checkedFour(text: string): readonly number[] {
  const numbers = text.split(".").map(Number);
  if (numbers.some((number) => number > 255) || /(?:^|\.)0\d/.test(text)) throw new Error("no address");
  return numbers;
}

/** The longest run of zeros, if it is longer than one, is left out. */
function shortest(pieces: readonly string[]): string {
  let [from, length] = [-1, 1];
  for (let at = 0; at < pieces.length; at += 1) {
    let end = at;
    while (pieces[end] === "0") end += 1;
    if (end - at > length) [from, length] = [at, end - at];
  }
  if (from < 0) return pieces.join(":");
  return `${pieces.slice(0, from).join(":")}::${pieces.slice(from + length).join(":")}`;
}

/** RFC 3492. */
function asciiOf(label: string): string {
  const points = Array.from(label, (letter) => letter.codePointAt(0) ?? 0);
  if (points.every((point) => point < 128)) return label;
  const plain = points.filter((point) => point < 128);
  let output = String.fromCharCode(...plain) + (plain.length > 0 ? "-" : "");
  let [next, delta, bias, done] = [128, 0, 72, plain.length];
  while (done < points.length) {
    const point = Math.min(...points.filter((one) => one >= next));
    delta += (point - next) * (done + 1);
    next = point;
    for (const one of points) {
      if (one < next) delta += 1;
      if (one !== next) continue;
      output += digitsOf(delta, bias);
      bias = adapted(delta, done + 1, done === plain.length);
      delta = 0;
      done += 1;
    }
    delta += 1;
    next += 1;
  }
  return `xn--${output}`;
}

function digitsOf(delta: number, bias: number): string {
  let [rest, text] = [delta, ""];
  for (let k = 36; ; k += 36) {
    const least = Math.min(26, Math.max(1, k - bias));
    if (rest < least) return text + digitOf(rest);
    text += digitOf(least + ((rest - least) % (36 - least)));
    rest = Math.floor((rest - least) / (36 - least));
  }
}

function digitOf(value: number): string {
  return String.fromCharCode(value < 26 ? 97 + value : 22 + value);
}

function adapted(given: number, points: number, isFirst: boolean): number {
  let delta = Math.floor(given / (isFirst ? 700 : 2));
  delta += Math.floor(delta / points);
  let k = 0;
  for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
  return k + Math.floor((36 * delta) / (delta + 38));
}

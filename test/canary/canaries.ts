/** Canary secrets, the encodings in which a tool can leak them, and how to recognise them. */

/** All kinds of secrets: tokens, passwords with punctuation, a key of several lines, letters that are not English. */
export function canaries(count: number): readonly string[] {
  const forms = [
    (i: number) => `canary-${i}-${"Zq7xW2"}-${(i * 7919).toString(36)}tail`,
    (i: number) => `pass${i}word+with/marks=&?#%${i}!`,
    (i: number) => `quoted"${i}"and\\back\\slashed'${i}`,
    (i: number) => `-----BEGIN CANARY ${i}-----\nMIIEvQIBADANBg${i}kqhkiG9w0B\n-----END CANARY ${i}-----`,
    (i: number) => `schlüssel-${i}-ключ-鍵-${i}-ende`,
  ];
  return Array.from({ length: count }, (_, i) => (forms[i % forms.length] ?? String)(i));
}

const before = "some words before ";
const after = " and some after";

function wrapped(text: string, width: number): string {
  return (text.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join("\n");
}

/** How a careless tool encodes a value. `shift` is the text before it, so that base64 starts at each of its offsets. */
export const encodings: Readonly<Record<string, (value: string, shift: number) => string>> = {
  plain: (value) => before + value + after,
  json: (value) => JSON.stringify({ text: before + value + after }),
  url: (value) => `https://example.org/?q=${encodeURIComponent(before + value + after)}`,
  base64: (value, shift) => Buffer.from("x".repeat(shift) + value + after).toString("base64"),
  base64url: (value, shift) => Buffer.from("x".repeat(shift) + value + after).toString("base64url"),
  hex: (value) => Buffer.from(before + value + after).toString("hex"),
  "upper hex": (value) => Buffer.from(value).toString("hex").toUpperCase(),
  "wrapped base64": (value, shift) => wrapped(Buffer.from("x".repeat(shift) + value + after).toString("base64"), 76),
  "wrapped hex": (value) => wrapped(Buffer.from(before + value + after).toString("hex"), 64),
  "utf-16 base64": (value, shift) => Buffer.from("x".repeat(shift) + value + after, "utf16le").toString("base64"),
};

/** Returns what reveals a value in text without line breaks: the value, or the middle of an encoding. */
export function traces(value: string): readonly string[] {
  const bytes = [Buffer.from(value), Buffer.from(value, "utf16le")];
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [
    ...[value, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(value)],
    ...bytes.flatMap((plain) => [plain.toString("hex"), plain.toString("hex").toUpperCase()]),
    ...bytes.flatMap((plain) => [0, 1, 2].flatMap((skip) => middle(plain, skip))),
  ];
  return [...new Set(forms.map(withoutBreaks))];
}

/** Returns the part of a base64 text that its neighbours cannot change: three bytes less on each side. */
function middle(bytes: Buffer, skip: number): readonly string[] {
  const whole = bytes.subarray(skip, skip + Math.floor((bytes.length - skip) / 3) * 3);
  return [whole.toString("base64"), whole.toString("base64url")];
}

export function withoutBreaks(text: string): string {
  return text.replace(/(?:\\{1,4}[rn])|[\r\n]/g, "");
}

/**
 * Every way a value is met in text: as it is, escaped for JSON (once, twice, ASCII only), percent-encoded, as hex, and
 * inside base64, where it looks different at each of the three places it can have among the bytes around it; the last
 * two also of its UTF-16.
 * Wrapped lines are not spelled here: joined-lines.ts looks at text as if it had never been wrapped.
 */
export function spellingsOf(value: string): readonly string[] {
  const lines = value.replace(/\r?\n/g, "\r\n"); // several lines may travel with the other system's line ends
  return [...new Set([value, lines].flatMap(spell))];
}

function spell(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const hex = bytes.toString("hex");
  const base64 = base64At(bytes);
  const json = JSON.stringify(value).slice(1, -1);
  return [
    value,
    json,
    JSON.stringify(json).slice(1, -1),
    json.replaceAll("/", "\\/"),
    ...asciiOnly(json),
    ...percentEncoded(value.toWellFormed()),
    markupEscaped(value),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...wide(value),
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/**
 * UTF-16 read as bytes, as it is met in PowerShell's `-EncodedCommand` and in registry dumps. Latin text without its last
 * byte is the same in both byte orders.
 */
function wide(value: string): readonly string[] {
  const bytes = Buffer.from(value, "utf16le");
  const isLatin = bytes.every((byte, i) => i % 2 === 0 || byte === 0);
  return isLatin ? asBytes(bytes.subarray(0, -1)) : [...asBytes(bytes), ...asBytes(Buffer.from(bytes).swap16())];
}

function asBytes(bytes: Buffer): readonly string[] {
  const text = bytes.toString("latin1");
  const hex = bytes.toString("hex");
  return [text, JSON.stringify(text).slice(1, -1), hex, hex.toUpperCase(), ...base64At(bytes)];
}

/** The characters that hold nothing but bits of the value; those shared with a neighbour depend on it and are left out. */
function base64At(bytes: Buffer): readonly string[] {
  return [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
}

/** `\u00e9`, in both spellings of hex digits. */
function asciiOnly(json: string): readonly string[] {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  // Code units, so without the u flag: a pair becomes two escapes, as JSON writers do.
  const lower = json.replace(/[^\x20-\x7e]/g, escaped);
  return [lower, json.replace(/[^\x20-\x7e]/g, (unit) => escaped(unit).toUpperCase().replace("\\U", "\\u"))];
}

function percentEncoded(value: string): readonly string[] {
  const strict = encodeURIComponent(value);
  const all = strict.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  const spelled = [strict, all, form, encodeURI(value)];
  return [...spelled, ...spelled.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

function markupEscaped(value: string): string {
  return value
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** What these media types name is text: `text/*`, JSON, XML and SVG, YAML, code. */
const textTypes =
  /^text\/|[/+](?:json|xml|ya?ml|x-ya?ml|toml|csv|sql|rtf|(?:x-)?ndjson|jsonl|graphql|(?:x-)?(?:java|ecma|type)script|x-sh|x-www-form-urlencoded|mbox)$/;

/**
 * The text of bytes that are text or claim to be, for a search. Returns undefined for other bytes. A text whose
 * encoding is in doubt is given in each that it may have, one after the other.
 *
 * @param isWhole false if the bytes are the beginning of more, which may end within a character
 */
export function textInBytes(bytes: Uint8Array, mediaType: string, isWhole = true): string | undefined {
  const encodings = new Set([...utf16Of(bytes), ...charsetIn(mediaType)]);
  const utf8 = decoded(bytes, "utf-8", { fatal: true, isWhole });
  const texts = [...encodings].flatMap((encoding) => decoded(bytes, encoding, { fatal: false, isWhole }) ?? []);
  if (utf8 !== undefined) return [utf8, ...texts].join("\n");
  if (texts.length > 0) return texts.join("\n");
  if (!claimsText(mediaType) && hasControls(bytes)) return undefined;
  const lossy = decoded(bytes, "utf-8", { fatal: false, isWhole }) ?? "";
  return `${lossy}\n${decoded(bytes, "windows-1252", { fatal: false, isWhole }) ?? ""}`;
}

function claimsText(mediaType: string): boolean {
  const [essence = ""] = mediaType.split(";", 1);
  return textTypes.test(essence.trim().toLowerCase());
}

function decoded(
  bytes: Uint8Array,
  encoding: string,
  { fatal, isWhole }: { readonly fatal: boolean; readonly isWhole: boolean },
): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal }).decode(bytes, { stream: !isWhole });
  } catch {
    return undefined; // another encoding, or one that does not exist
  }
}

/** UTF-16 begins with its mark, or has a zero beside each Latin letter. */
function utf16Of(bytes: Uint8Array): readonly string[] {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return ["utf-16le"];
  if (first === 0xfe && second === 0xff) return ["utf-16be"];
  const head = bytes.subarray(0, 512);
  const zeros = [0, 0];
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (Math.max(even, odd) * 4 < head.length || head.length === 0) return [];
  return [odd > even ? "utf-16le" : "utf-16be"];
}

function charsetIn(mediaType: string): readonly string[] {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]{1,40})/i.exec(mediaType) ?? [];
  return /^utf-?8$/i.test(charset) ? [] : [charset.toLowerCase()];
}

/** Text has no controls other than tabs, line ends, form feeds and escapes. */
function hasControls(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b));
}

/** First bytes of the files that models and people can be shown. Other files are `application/octet-stream`. */
const signatures: readonly (readonly [mediaType: string, at: number, bytes: string])[] = [
  ["image/png", 0, "89504e470d0a1a0a"],
  ["image/jpeg", 0, "ffd8ff"],
  ["image/gif", 0, "47494638"],
  ["image/webp", 8, "57454250"],
  ["image/bmp", 0, "424d"],
  ["image/tiff", 0, "49492a00"],
  ["image/tiff", 0, "4d4d002a"],
  ["application/pdf", 0, "255044462d"],
  ["application/zip", 0, "504b0304"],
  ["application/gzip", 0, "1f8b"],
  ["application/wasm", 0, "0061736d"],
  ["audio/wav", 8, "57415645"],
  ["audio/flac", 0, "664c6143"],
  ["audio/ogg", 0, "4f676753"],
  ["audio/mpeg", 0, "494433"],
  ["audio/mpeg", 0, "fffb"],
  ["video/mp4", 4, "66747970"],
  ["video/webm", 0, "1a45dfa3"],
];

export const unknownType = "application/octet-stream";

/** By the content, because a file's name proves nothing. */
export function mediaTypeOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("hex");
  const found = signatures.find(([, at, signature]) => head.startsWith(signature, at * 2));
  return found?.[0] ?? unknownType;
}

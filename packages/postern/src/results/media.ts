/** File extensions of the media types that tools often return. */
export const extensions: ReadonlyMap<string, string> = new Map([
  ["application/gzip", "gz"],
  ["application/json", "json"],
  ["application/msword", "doc"],
  ["application/pdf", "pdf"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/wasm", "wasm"],
  ["application/xml", "xml"],
  ["application/yaml", "yaml"],
  ["application/zip", "zip"],
  ["audio/aac", "aac"],
  ["audio/flac", "flac"],
  ["audio/mp4", "m4a"],
  ["audio/mpeg", "mp3"],
  ["audio/ogg", "ogg"],
  ["audio/wav", "wav"],
  ["audio/webm", "weba"],
  ["audio/x-wav", "wav"],
  ["image/avif", "avif"],
  ["image/bmp", "bmp"],
  ["image/gif", "gif"],
  ["image/heic", "heic"],
  ["image/jpeg", "jpg"],
  ["image/png", "png"],
  ["image/svg+xml", "svg"],
  ["image/tiff", "tiff"],
  ["image/webp", "webp"],
  ["text/css", "css"],
  ["text/csv", "csv"],
  ["text/html", "html"],
  ["text/javascript", "js"],
  ["text/markdown", "md"],
  ["text/plain", "txt"],
  ["text/xml", "xml"],
  ["video/mp4", "mp4"],
  ["video/quicktime", "mov"],
  ["video/webm", "webm"],
]);

/** `bin` for an unknown type, because a wrong extension would mislead. */
export function extensionOf(mediaType: string): string {
  const [essence = ""] = mediaType.split(";", 1);
  return extensions.get(essence.trim().toLowerCase()) ?? "bin";
}

/** The path at which a script finds the n-th media block of a result. The tool's name cannot lead out of the folder. */
export function mediaPath(tool: string, n: number, mediaType: string): string {
  const name = tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
  return `/workspace/media/${name}_${n}.${extensionOf(mediaType)}`;
}

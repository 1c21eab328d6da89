import type { JsonObject } from "@postern/core";
import type { UpstreamCall } from "./upstream.ts";

/** Passes progress on as text and in the server's numbers, and as a fraction if the total is known. */
export function reportProgress({ progress, total, message }: JsonObject, { onProgress }: UpstreamCall): void {
  if (typeof progress !== "number" || (total !== undefined && typeof total !== "number")) return;
  const words = typeof message === "string" ? message : `${progress}${total === undefined ? "" : ` of ${total}`}`;
  const fraction = total === undefined || total === 0 ? undefined : progress / total;
  onProgress(words, fraction, { progress, ...(total !== undefined && { total }) });
}

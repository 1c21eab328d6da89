/** Writes frames. The child process loads this file too, and not the code that checks frames. */
import type { JsonObject } from "../../core/json.ts";

export const headerBytes = 4;

/** One frame, ready to be written. */
export function encodeFrame(message: JsonObject): Buffer {
  return frameOf(JSON.stringify(message));
}

/** @param text the JSON of a message */
export function frameOf(text: string): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + Buffer.byteLength(text));
  frame.writeUInt32BE(frame.length - headerBytes, 0);
  frame.write(text, headerBytes);
  return frame;
}

import type { JsonObject } from "../../core/json.ts";
import { tooManyBytes } from "../../results/raw-result.ts";

/** What the SDK's client reads instead of an answer that was too large to be read: its request is over, and it forgets it. */
export function tooLargeError(id: number | string, limitBytes: number): JsonObject {
  return { jsonrpc: "2.0", id, error: { code: -32_603, message: `its answer has ${tooManyBytes(limitBytes)}` } };
}

/** What reading a body beyond the limit rejects with. */
export class AnswerTooLarge extends Error {}

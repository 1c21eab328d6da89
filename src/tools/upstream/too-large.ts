import type { JSONRPCErrorResponse } from "@modelcontextprotocol/client";
import { LostAnswer, tooManyBytes } from "../../results/raw-result.ts";

/** Only in what is made here, and never on a wire: no server can say it. */
const mark: unique symbol = Symbol("an answer beyond the limit");

/** What the SDK's client is told in the place of an answer that was not read: its request is over, and it forgets it. */
export function tooLarge(id: number | string, limitBytes: number): JSONRPCErrorResponse {
  const data = { [mark]: true };
  return { jsonrpc: "2.0", id, error: { code: -32_603, message: `its answer has ${tooManyBytes(limitBytes)}`, data } };
}

/**
 * The server has answered, so the call has happened; undefined for any other failure.
 *
 * @param unread what the exchange over HTTP knows
 */
export function lostAnswer(error: unknown, unread: boolean, limitBytes: number): LostAnswer | undefined {
  if (!unread && !isMarked(error)) return undefined;
  return new LostAnswer(`it has ${tooManyBytes(limitBytes)}`);
}

/** What reading a body beyond the limit rejects with. */
export class AnswerTooLarge extends Error {}

function isMarked(error: unknown): boolean {
  if (!(error instanceof Error) || !("data" in error)) return false;
  const { data } = error;
  return typeof data === "object" && data !== null && mark in data;
}

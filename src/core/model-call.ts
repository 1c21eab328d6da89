import { isRunOfTheDay } from "./authority.ts";
import type { Authority, ToolCall } from "./call.ts";

/** A call as the model made it: its id within a turn. A turn is one response of the model. */
export interface ModelCall {
  readonly turn: string;
  readonly id: string;
}

/** Undefined for a caller without ids of a model. An id without a turn is a turn of its own. */
export function modelCallOf({ toolCallId, turn }: Pick<ToolCall, "toolCallId" | "turn">): ModelCall | undefined {
  return toolCallId === undefined ? undefined : { turn: turn ?? toolCallId, id: toolCallId };
}

export function isSameModelCall(one: ModelCall, other: ModelCall): boolean {
  return one.turn === other.turn && one.id === other.id;
}

/** The run that the caller named. The default run of the day is not named, so that a wait survives midnight. */
export function statedRunOf({ runId }: Pick<Authority, "runId">): string | undefined {
  return isRunOfTheDay(runId) ? undefined : runId;
}

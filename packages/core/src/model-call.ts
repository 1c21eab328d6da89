import type { Authority, ToolCall } from "./call.ts";
import { isRunOfTheDay } from "./ids.ts";

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

/** The members of a ledger row that tell which calls of a model it answers. */
interface AnsweringRow {
  readonly call: Pick<ToolCall, "toolCallId" | "turn" | "idempotencyKey">;
  readonly joined?: readonly ModelCall[] | undefined;
}

/** All calls of a model that the row answers: its first arrival's, and those that joined it. */
export function modelCallsOf({ call, joined = [] }: AnsweringRow): readonly ModelCall[] {
  const first = call.idempotencyKey === undefined ? modelCallOf(call) : undefined;
  return first === undefined ? joined : [first, ...joined];
}

/** Whether the row answers this call of the model. */
export function isNamedBy(row: AnsweringRow, modelCall: ModelCall | undefined): boolean {
  return modelCall !== undefined && modelCallsOf(row).some((one) => isSameModelCall(one, modelCall));
}

/** The key of a child call: its parent's key and its number among the parent's calls. */
export function childKey(parentKey: string, number: number): string {
  return `${parentKey}/${number}`;
}

/** The parent's key, from a key that `childKey` made. */
export function parentKeyOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/"));
}

/** The number of a child call among the calls of this parent. Returns undefined when it is not one of them. */
export function childNumber(
  { idempotencyKey = "" }: Pick<ToolCall, "idempotencyKey">,
  parentKey: string,
): number | undefined {
  const number = Number(idempotencyKey.slice(parentKey.length + 1));
  return idempotencyKey === childKey(parentKey, number) ? number : undefined;
}

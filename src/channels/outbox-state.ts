import { isJsonObject, type Json, type JsonObject } from "../calls/json.ts";
import type { Channel, ChannelState, DeadLetter } from "./channel.ts";

/** The kind of its documents, one a channel. */
export const outboxKind = "channel";

/** What became of a channel, for the log. */
export interface ChannelNote {
  readonly type: "channel.dead_letter" | "channel.recovered";
  readonly summary: string;
  readonly outcome: "success" | "failure";
  readonly data: JsonObject;
}

/** What is tried again, by its entry in the log. */
export interface Waiting {
  readonly seq: number;
  readonly type: string;
  readonly attempts: number;
  /** Wall clock, milliseconds. */
  readonly nextAt: number;
  readonly problem?: string;
}

/** Everything up to `after` has been delivered, waits, or was given up. */
export interface OutboxState {
  /** Made once: what tells this log's notices from another's. */
  readonly series: string;
  readonly after: number;
  readonly waiting: readonly Waiting[];
  readonly dead: readonly DeadLetter[];
  readonly delivered: number;
  readonly lastDeliveredAt?: number;
}

/** Between one try and the next: about nine hours in all. */
const retryAfterSeconds: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 21_600];

/** Undefined: there were enough tries. @param chance between 0 and 1: not all who failed together try again together */
export function retryAfterMs({ attempts }: Waiting, chance: number): number | undefined {
  const seconds = retryAfterSeconds[attempts];
  return seconds && Math.round(seconds * 1_000 * (0.8 + 0.4 * chance));
}

/** As it is told of. */
export function channelState({ name, kind, target }: Channel, state: OutboxState): ChannelState {
  const { waiting, dead, delivered, lastDeliveredAt } = state;
  const problem = waiting.findLast((one) => one.problem !== undefined)?.problem;
  return {
    ...{ name, kind, target, waiting: waiting.length, delivered, dead },
    ...(problem !== undefined && { problem }),
    ...(lastDeliveredAt !== undefined && { lastDeliveredAt }),
  };
}

export function stateToJson({ waiting, dead, ...state }: OutboxState): JsonObject {
  return { ...state, waiting: waiting.map((one) => ({ ...one })), dead: dead.map((one) => ({ ...one })) };
}

/** Undefined: not what `stateToJson` wrote. */
export function stateFromJson(body: Json): OutboxState | undefined {
  if (!isJsonObject(body)) return undefined;
  const { series, after, waiting, dead, delivered, lastDeliveredAt } = body;
  if (typeof series !== "string" || typeof after !== "number" || typeof delivered !== "number") return undefined;
  if (!Array.isArray(waiting) || !Array.isArray(dead)) return undefined;
  return {
    ...{ series, after, delivered },
    waiting: waiting.flatMap((one: Json) => waitingFrom(one)),
    dead: dead.flatMap((one: Json) => deadFrom(one)),
    ...(typeof lastDeliveredAt === "number" && { lastDeliveredAt }),
  };
}

function waitingFrom(body: Json): readonly Waiting[] {
  if (!isJsonObject(body)) return [];
  const { seq, type, attempts, nextAt, problem } = body;
  if (typeof type !== "string") return [];
  if (typeof seq !== "number" || typeof attempts !== "number" || typeof nextAt !== "number") return [];
  return [{ seq, type, attempts, nextAt, ...(typeof problem === "string" && { problem }) }];
}

function deadFrom(body: Json): readonly DeadLetter[] {
  if (!isJsonObject(body)) return [];
  const { seq, type, at, attempts, problem } = body;
  if (typeof seq !== "number" || typeof type !== "string" || typeof at !== "number") return [];
  if (typeof attempts !== "number" || typeof problem !== "string") return [];
  return [{ seq, type, at, attempts, problem }];
}

import { defined, isJsonObject, type Json } from "@postern/core";
import type { Channel, ChannelState, DeadLetter } from "./channel.ts";

/** A notice that is tried again, by its entry in the log. */
export interface WaitingNotice {
  readonly seq: number;
  readonly type: string;
  readonly attempts: number;
  /** Wall clock, milliseconds. */
  readonly nextAt: number;
  readonly problem?: string;
}

/** Every entry up to `after` was delivered, waits, or was given up. */
export interface OutboxState {
  /** Made once. It makes the ids of this log's notices differ from those of another log. */
  readonly series: string;
  readonly after: number;
  readonly waiting: readonly WaitingNotice[];
  readonly dead: readonly DeadLetter[];
  readonly delivered: number;
  readonly lastDeliveredAt?: number;
}

/** Between one try and the next: about nine hours in all. */
const retryAfterSeconds: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 21_600];

/**
 * Returns undefined after the last try.
 *
 * @param chance between 0 and 1, so that notices that failed together are not retried together
 */
export function retryAfterMs({ attempts }: WaitingNotice, chance: number): number | undefined {
  const seconds = retryAfterSeconds[attempts];
  return seconds && Math.round(seconds * 1_000 * (0.8 + 0.4 * chance));
}

/** The state in which these, which were given up, wait for a try at once. */
export function retried(state: OutboxState, letters: readonly DeadLetter[], now: number): OutboxState {
  const again = letters.map(
    ({ seq, type, problem }): WaitingNotice => ({ seq, type, attempts: 0, nextAt: now, problem }),
  );
  const dead = state.dead.filter((one) => !letters.includes(one));
  return { ...state, dead, waiting: [...state.waiting, ...again] };
}

export function channelState({ name, kind, target }: Channel, state: OutboxState): ChannelState {
  const { waiting, dead, delivered, lastDeliveredAt } = state;
  const problem = waiting.findLast((one) => one.problem !== undefined)?.problem;
  return defined({ name, kind, target, waiting: waiting.length, delivered, dead, problem, lastDeliveredAt });
}

/** Returns undefined if Postern did not write it. */
export function stateIn(body: Json): OutboxState | undefined {
  if (!isJsonObject(body)) return undefined;
  const { series, after, waiting, dead, delivered } = body;
  const isOurs =
    typeof series === "string" &&
    [after, delivered].every(Number.isSafeInteger) &&
    [waiting, dead].every((list) => Array.isArray(list) && list.every((one) => isJsonObject(one)));
  return isOurs ? (body as unknown as OutboxState) : undefined; // its members were checked
}

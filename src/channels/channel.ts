/**
 * Where people are told that they are wanted: webhooks, a chat, and whatever else somebody writes an adapter for.
 *
 * Invariant: a notice is made from an entry of the audit log, so it is lost by no crash: it is sent at least once, under
 * an id that stays the same, until it was taken or given up, which is recorded. No call waits for it, and what goes out
 * holds no secret. What comes back is a decision like any other: signed, not replayed, and never of a critical call.
 * Next: notice.ts (what is told), outbox.ts (how it is kept and tried again), webhook.ts, slack.ts, decisions.ts.
 */
import type { JsonObject } from "../calls/json.ts";
import type { ApprovalRecord } from "../calls/records.ts";

/** @public */
export type NoticeType =
  | "approval.requested"
  | "approval.edited"
  | "approval.decided"
  | "approval.expiring"
  | "approval.escalated"
  | "alarm.opened"
  | "alarm.resolved"
  | "channel.test";

/**
 * What is told: the same text for everybody who is told of it.
 *
 * @public
 */
export interface Notice {
  /** The same at every try: whoever has seen it may drop it. */
  readonly id: string;
  readonly type: NoticeType;
  /** ISO 8601, UTC: when it happened. */
  readonly at: string;
  readonly tenant: string;
  readonly summary: string;
  /** As it stands now. */
  readonly approval?: ApprovalRecord;
  /** What the log says of it. */
  readonly data: JsonObject;
  /** Where in the console it is looked at and decided. */
  readonly link?: string;
}

/**
 * What became of one try. `final`: trying again is of no use.
 *
 * @public
 */
export type Delivered =
  | { readonly delivered: true }
  | {
      readonly delivered: false;
      readonly problem: string;
      readonly final?: boolean;
      /** There is nobody there any more: nothing else is sent until somebody asks for it. */
      readonly gone?: boolean;
      /** What the other side asked for, milliseconds. */
      readonly retryAfterMs?: number;
    };

/**
 * One way to reach people.
 *
 * Contract: `deliver` may be called again with the same notice; what it throws counts as not delivered.
 *
 * @public
 */
export interface Channel {
  readonly name: string;
  /** For people: `webhook`, `slack`, … */
  readonly kind: string;
  /** For people: where it goes, without what is secret in it. */
  readonly target: string;
  wants(notice: Pick<Notice, "type" | "tenant">): boolean;
  deliver(notice: Notice, signal: AbortSignal): Promise<Delivered>;
}

/** @public */
export interface DeadLetter {
  readonly seq: number;
  readonly type: string;
  /** Wall clock, milliseconds: when it was given up. */
  readonly at: number;
  readonly attempts: number;
  readonly problem: string;
}

/** @public */
export interface ChannelState {
  readonly name: string;
  readonly kind: string;
  readonly target: string;
  /** Tried and not taken yet, or about to be tried. */
  readonly waiting: number;
  /** Of those that wait, what the last one met. */
  readonly problem?: string;
  readonly delivered: number;
  readonly lastDeliveredAt?: number;
  readonly dead: readonly DeadLetter[];
}

/** @public */
export interface Channels {
  list(): readonly ChannelState[];
  /** Sends a notice that says it is one, now and once. Undefined: no such channel. */
  test(name: string): Promise<Delivered | undefined>;
  /** What was given up is tried anew. Undefined: no such channel; else how many. */
  retry(name: string): Promise<number | undefined>;
}

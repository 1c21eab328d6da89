/**
 * Notification channels: webhooks, Slack, and adapters of your own.
 *
 * Invariant: a notice is made from an entry of the audit log, so no crash loses it. It is sent at least once, always under
 * the same id, until it is delivered or given up; the log records that. No call waits for it, and it holds no secret. A
 * decision that comes back is signed, used once, and never about a critical call.
 * Next: notice.ts (what a notice is), outbox.ts (position and retries), webhook.ts, slack-app.ts, decisions.ts.
 */
import type { ApprovalRecord, JsonObject } from "@postern/core";

/** @public */
export type NoticeType =
  | "approval.requested"
  | "approval.edited"
  | "approval.decided"
  | "approval.expiring"
  | "approval.escalated"
  | "call.ended"
  | "alarm.opened"
  | "alarm.resolved"
  | "channel.test";

/** @public */
export interface CallEnd {
  /** `unknown`: it may have happened. */
  readonly as: "ok" | "failed" | "unknown";
  /** Of the tool alone. */
  readonly durationMs?: number;
}

/**
 * The same for every channel.
 *
 * @public
 */
export interface Notice {
  /** The same at every try, so a receiver can drop repeats. */
  readonly id: string;
  readonly type: NoticeType;
  /** ISO 8601, UTC: when it happened. */
  readonly at: string;
  readonly tenant: string;
  readonly summary: string;
  /** Its current state. */
  readonly approval?: ApprovalRecord;
  /** How the approved call ended, in `call.ended`. */
  readonly end?: CallEnd;
  /** From the entry of the log. */
  readonly data: JsonObject;
  /** The page of the console that shows it. */
  readonly link?: string;
}

/**
 * How one try ended. `final`: another try is of no use.
 *
 * @public
 */
export type Delivered =
  | { readonly delivered: true }
  | {
      readonly delivered: false;
      readonly problem: string;
      readonly final?: boolean;
      /** The receiver no longer exists. Nothing is sent until a person asks for it. */
      readonly gone?: boolean;
      /** As the receiver asked. */
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
  /** Notices that are tried or will be tried again. */
  readonly waiting: number;
  /** Why the last one of them failed. */
  readonly problem?: string;
  readonly delivered: number;
  readonly lastDeliveredAt?: number;
  readonly dead: readonly DeadLetter[];
}

/** @public */
export interface Channels {
  list(): readonly ChannelState[];
  /** Sends a test notice once. Returns undefined if there is no such channel. */
  test(name: string): Promise<Delivered | undefined>;
  /** Tries again what was given up, and returns how many. Returns undefined if there is no such channel. */
  retry(name: string): Promise<number | undefined>;
}

/**
 * What somebody should look at (SPEC 14.9): raised once however often its cause comes again, until it is over.
 *
 * Invariant: one alarm a tenant and dedupe key; open → acked → resolved, each step written with its event in one
 * transaction; an alarm never holds a secret, and raising one never waits for, fails or slows a call.
 * Next: causes.ts (what raises and ends one), alarm-book.ts (how it is kept), alarm-record.ts (as a document).
 */
import type { Actor } from "../calls/actor.ts";
import type { JsonObject } from "../calls/json.ts";

/**
 * `acked`: a person knows; it is told of no more until it is over.
 *
 * @public
 */
export type AlarmState = "open" | "acked" | "resolved";
/** @public */
export type AlarmSeverity = "warning" | "critical";

/** @public */
export interface Alarm {
  /** The same for the same tenant and key, also when it is raised again after it was over. */
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly tenant: string;
  readonly severity: AlarmSeverity;
  readonly summary: string;
  readonly state: AlarmState;
  /** How often its cause came since it was raised. */
  readonly count: number;
  /** Wall clock, milliseconds. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly acked?: AlarmWord;
  readonly resolved?: AlarmWord;
  readonly data: JsonObject;
}

/** @public */
export interface AlarmWord {
  /** Nobody: it ended by itself. */
  readonly by?: string;
  /** And by which credential. */
  readonly via?: string;
  readonly at: number;
  readonly reason?: string;
}

/** @public */
export interface AlarmFilter {
  readonly tenant?: string;
  readonly state?: AlarmState;
  readonly limit?: number;
  /** A page's `nextAfter`: only those that come after it. */
  readonly after?: string;
}

/** @public */
export interface AlarmPage {
  readonly alarms: readonly Alarm[];
  /** Where the next page begins; none: there is no more. */
  readonly nextAfter?: string;
}

/** @public */
export type AlarmChange =
  | { readonly changed: true; readonly alarm: Alarm }
  | { readonly changed: false; readonly why: "alarm_unknown" | "alarm_resolved"; readonly message: string };

/** @public */
export interface Alarms {
  /** Open ones first, then the latest. */
  list(where?: AlarmFilter): readonly Alarm[];
  /** The same, with where the next page begins. */
  page(where?: AlarmFilter): AlarmPage;
  get(id: string): Alarm | undefined;
  /** Somebody knows of it. What is acknowledged already stays as it is. */
  acknowledge(id: string, by: Actor, reason?: string): Promise<AlarmChange>;
  /** It is over. When its cause comes again it is raised anew. */
  resolve(id: string, by: Actor, reason?: string): Promise<AlarmChange>;
}

/** A cause, as whoever sees it says it. */
export interface Cause {
  readonly kind: string;
  /** What tells it from others of its kind. */
  readonly key: string;
  readonly tenant: string;
  readonly severity: AlarmSeverity;
  readonly summary: string;
  readonly data?: JsonObject;
}

/** For those who see causes. Neither throws nor waits. */
export interface AlarmBell {
  raise(cause: Cause): void;
  /** Its cause is over. Nothing happens when none is raised. */
  settle(tenant: string, key: string, reason: string): void;
  isRaised(tenant: string, key: string): boolean;
  /** Whether none is raised at all: asked at every call, and nearly always so. */
  readonly isQuiet: boolean;
}

/**
 * Alarms: what a person should look at.
 *
 * Invariant: one alarm a tenant and dedupe key; open → acked → resolved, each step written with its event in one
 * transaction; an alarm never holds a secret, and raising one never waits for, fails or slows a call.
 * Next: rules.ts (which event opens and closes which alarm), repository.ts (the documents), open-alarms.ts.
 */
import type { Actor, JsonObject } from "@postern/core";

/**
 * `acked`: a person knows, and gets no more notifications until it is resolved.
 *
 * @public
 */
export type AlarmState = "open" | "acked" | "resolved";
/** @public */
export type AlarmSeverity = "warning" | "critical";

/** @public */
export interface Alarm {
  /** The same for the same tenant and key, also if it opens again. */
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly tenant: string;
  readonly severity: AlarmSeverity;
  readonly summary: string;
  readonly state: AlarmState;
  /** How often its cause came since it opened. */
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
  /** Missing if it closed by itself. */
  readonly by?: string;
  /** The credential. */
  readonly via?: string;
  readonly at: number;
  readonly reason?: string;
}

/** @public */
export interface AlarmFilter {
  readonly tenant?: string;
  readonly state?: AlarmState;
  readonly limit?: number;
  /** The `nextAfter` of the page before. */
  readonly after?: string;
}

/** @public */
export interface AlarmPage {
  readonly alarms: readonly Alarm[];
  /** Where the next page begins; missing on the last page. */
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
  /** An acknowledged alarm stays as it is. */
  acknowledge(id: string, by: Actor, reason?: string): Promise<AlarmChange>;
  /** If its cause comes again, it opens again. */
  resolve(id: string, by: Actor, reason?: string): Promise<AlarmChange>;
}

/** Why an alarm opens. */
export interface Cause {
  readonly kind: string;
  /** Equal keys of a tenant are one alarm. */
  readonly key: string;
  readonly tenant: string;
  readonly severity: AlarmSeverity;
  readonly summary: string;
  readonly data?: JsonObject;
}

/** For code that sees causes. Neither throws nor waits. */
export interface AlarmRaiser {
  raise(cause: Cause): void;
  /** Resolves the alarm, because its cause is over. Does nothing if none is raised. */
  settle(tenant: string, key: string, reason: string): void;
  isRaised(tenant: string, key: string): boolean;
  /** Whether none is raised. Every call asks, so it is one comparison. */
  readonly isQuiet: boolean;
}

/** What somebody should look at. Names are the wire's. */
import { get, post } from "./client.ts";

export interface AlarmWord {
  /** Nobody: it ended by itself. */
  readonly by?: string;
  readonly via?: string;
  readonly at: string;
  readonly reason?: string;
}

export interface Alarm {
  readonly alarm_id: string;
  readonly kind: string;
  readonly state: "open" | "acked" | "resolved";
  readonly severity: "warning" | "critical";
  readonly summary: string;
  readonly count: number;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly acked?: AlarmWord;
  readonly resolved?: AlarmWord;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface AlarmPage {
  readonly alarms: readonly Alarm[];
  readonly next_after?: string;
}

/** Open ones first, then the latest; those that are over too. */
export function listAlarms(after: string | undefined, signal: AbortSignal): Promise<AlarmPage> {
  return get("/v1/alarms", { query: { limit: 100, after }, signal });
}

export function settleAlarm(
  id: string,
  verb: "ack" | "resolve",
  said: { readonly reason?: string | undefined },
): Promise<Alarm> {
  return post(`/v1/alarms/${encodeURIComponent(id)}/${verb}`, said);
}

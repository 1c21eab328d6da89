/** Problems that a person should look at. */
import type { AlarmChangeView, AlarmPageView, AlarmView } from "../../../src/server/contract/alarms.ts";
import { get, post } from "./client.ts";

export type { AlarmChangeView, AlarmPageView, AlarmView };

/** Open ones first, then the latest; those that are over too. */
export function listAlarms(after: string | undefined, signal: AbortSignal): Promise<AlarmPageView> {
  return get("/v1/alarms", { query: { limit: 100, after }, signal });
}

export function settleAlarm(
  id: string,
  verb: "ack" | "resolve",
  said: { readonly reason?: string | undefined },
): Promise<AlarmView> {
  return post(`/v1/alarms/${encodeURIComponent(id)}/${verb}`, said);
}

import type { Clock } from "../calls/clock.ts";
import type { NotedEvent } from "../calls/event.ts";
import type { Watcher } from "./watcher.ts";

/** Writes an event that is nobody's call. */
export type Note = (
  type: string,
  summary: string,
  more: Partial<Pick<NotedEvent, "tenant" | "outcome" | "data">>,
) => Promise<void>;

const hourMs = 3_600_000;

/**
 * One alarm for a notification storm, however many calls it blocks: at most one an hour and tenant (SPEC 6.3, 14.9). What
 * was told is forgotten at a restart, and then told once more.
 */
export function stormAlarm(clock: Clock, note: Note, log: (problem: string) => void): Watcher {
  const told = new Map<string, number>();
  return (event) => {
    if (event.moment !== "ended" || event.as !== "storm_blocked") return;
    const { tenant } = event.call.authority.principal;
    const now = clock.now();
    const before = told.get(tenant);
    if (before !== undefined && now - before < hourMs) return;
    for (const [name, at] of told) if (now - at >= hourMs) told.delete(name);
    told.set(tenant, now);
    const data = { dedupe_key: `notification_storm/${tenant}`, tool: event.call.tool, call: event.call.id };
    note("alarm.notification_storm", "Notifications are blocked: too many in an hour", {
      tenant,
      outcome: "failure",
      data,
    }).catch((error: unknown) => {
      told.delete(tenant); // the next blocked call tells it
      log(`The alarm of a notification storm could not be written: ${String(error)}`);
    });
  };
}

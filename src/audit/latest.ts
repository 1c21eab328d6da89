import type { Store } from "../stores/store.ts";
import type { AuditEvent, LatestFilter, LatestPage } from "./log.ts";
import { isWanted } from "./query.ts";

const defaultLimit = 100;
/** Read at once, and old to new, because that is how stores read. */
const stretch = 512;
/** A page that finds little is given back short after so many: whoever looks on is never kept waiting. */
const mostRead = 8_192;

/**
 * The events that match, new to old.
 *
 * @param log the part of an audit id that is the log's, and how many entries there are
 */
export async function latestEvents(
  store: Pick<Store, "events">,
  log: { readonly keyId: string; readonly size: number },
  where: LatestFilter,
): Promise<LatestPage> {
  const { before = log.size, limit = defaultLimit } = where;
  const wanted = isWanted(log.keyId, where);
  const start = Math.min(before, log.size);
  const events: AuditEvent[] = [];
  let next = start;
  while (next > 0 && start - next < mostRead) {
    const first = Math.max(0, next - stretch);
    const bodies: string[] = [];
    for await (const { body } of store.events({ after: first - 1, limit: next - first })) bodies.push(body);
    for (const body of bodies.reverse()) {
      next -= 1;
      const event = wanted(next, body);
      if (event === undefined) continue;
      events.push(event);
      if (events.length >= limit) return pageOf(events, next);
    }
    next = first;
  }
  return pageOf(events, next);
}

function pageOf(events: readonly AuditEvent[], next: number): LatestPage {
  return next === 0 ? { events } : { events, nextBefore: next };
}

import type { AuditEvent, LatestFilter, LatestPage } from "./log.ts";
import { isWanted, type QueriedLog } from "./query.ts";

const defaultLimit = 100;
/** Read at once, and old to new, because that is how stores read. */
const stretch = 512;
/** A page that finds little is given back short after so many: whoever looks on is never kept waiting. */
const mostRead = 8_192;

/** The events that match, new to old. */
export async function latestEvents(log: QueriedLog, where: LatestFilter): Promise<LatestPage> {
  const { before = log.size, limit = defaultLimit } = where;
  const wanted = isWanted(log.keyId, where);
  const events: AuditEvent[] = [];
  let left = mostRead;
  for (const span of (await log.times.spans(log.size, where)).toReversed()) {
    let next = Math.min(before, log.size, span.end);
    while (next > span.first) {
      if (left <= 0) return { events, nextBefore: next };
      const first = Math.max(span.first, next - stretch);
      const bodies: string[] = [];
      for await (const { body } of log.store.events({ after: first - 1, limit: next - first })) bodies.push(body);
      left -= next - first;
      for (const body of bodies.reverse()) {
        next -= 1;
        const event = wanted(next, body);
        if (event === undefined) continue;
        events.push(event);
        if (events.length >= limit) return next === 0 ? { events } : { events, nextBefore: next };
      }
      next = first;
    }
  }
  return { events };
}

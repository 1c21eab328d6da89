import { invalid } from "../problem.ts";
import type { QuietHours } from "../schema.ts";

/**
 * Returns whether a time (wall clock, milliseconds) is in the quiet hours. NaN is not.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function quietHours(hours: QuietHours): (now: number) => boolean {
  const [from, to] = [minutesOf(hours.from), minutesOf(hours.to)];
  if (from === to) throw invalid(`\`quietHours\` begin and end at \`${hours.to}\`; give a span, or leave them out.`);
  const local = formatFor(hours.timeZone);
  return (now) => {
    if (!Number.isFinite(now)) return false;
    const time = minutesOf(local.format(now));
    return from < to ? time >= from && time < to : time >= from || time < to;
  };
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  return hours * 60 + minutes;
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  } catch {
    // The engine does not know the zone, and its message names no fix.
    throw invalid(`\`quietHours.timeZone\` is \`${timeZone}\`; write a name like \`Europe/Berlin\` or \`UTC\`.`);
  }
}

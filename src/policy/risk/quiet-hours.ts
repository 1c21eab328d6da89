import { fieldsOf, invalid } from "../checking.ts";

/** When people sleep. From `from` until just before `to`; past midnight where `to` is the earlier one. */
export interface QuietHours {
  /** `22:00`. */
  readonly from: string;
  readonly to: string;
  /** IANA name: `Europe/Berlin`. Summer time is the zone's own. */
  readonly timeZone: string;
}

const minuteMs = 60_000;

/**
 * Whether a moment (wall clock, milliseconds) lies in them. What is no moment does not.
 *
 * @throws RuntimeFault `policy_invalid`
 */
export function quietHours(given: QuietHours): (now: number) => boolean {
  for (const [name] of fieldsOf(given, "`quietHours`"))
    if (!["from", "to", "timeZone"].includes(name))
      throw invalid(`\`quietHours.${name}\` is not known; it has from, to and timeZone.`);
  const from = minutesOf(given.from, "from");
  const to = minutesOf(given.to, "to");
  if (from === to) throw invalid(`\`quietHours\` begin and end at \`${given.to}\`; give a span, or leave them out.`);
  const local = formatFor(given.timeZone);
  // Offsets of zones are whole minutes: what was found holds for the rest of the minute.
  let minute = Number.NaN;
  let quiet = false;
  return (now) => {
    if (!Number.isFinite(now)) return false;
    const asked = Math.floor(now / minuteMs);
    if (asked !== minute) {
      const [hours = 0, minutes = 0] = local.format(now).split(":").map(Number);
      const time = hours * 60 + minutes;
      quiet = from < to ? time >= from && time < to : time >= from || time < to;
      minute = asked;
    }
    return quiet;
  };
}

function minutesOf(given: unknown, name: string): number {
  const met = typeof given === "string" ? /^([01]\d|2[0-3]):([0-5]\d)$/.exec(given) : null;
  if (met === null)
    throw invalid(`\`quietHours.${name}\` is \`${String(given)}\`; write a time of day as \`22:00\`, in quotes.`);
  return Number(met[1]) * 60 + Number(met[2]);
}

function formatFor(timeZone: unknown): Intl.DateTimeFormat {
  try {
    if (typeof timeZone !== "string" || timeZone === "") throw new TypeError("no name");
    return new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  } catch {
    // The engine knows no such zone; its own words name no way out.
    throw invalid(
      `\`quietHours.timeZone\` is \`${String(timeZone)}\`; write a name like \`Europe/Berlin\` or \`UTC\`.`,
    );
  }
}

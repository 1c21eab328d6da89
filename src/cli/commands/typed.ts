import { UsageProblem } from "../usage-problem.ts";

export function wholeNumber(text: string, flag: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageProblem(`\`${flag} ${text}\` is not a whole number from 0.`);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

const date = /^\d{4}-\d{2}-\d{2}$/;
const dateAndTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/i;
const lastInstantMs = 8.64e15;

/** ISO time, a date, or an age: `15m`, `2h`, `7d`. Answers ISO. */
export function instant(text: string, flag: string, now: number): string {
  return isoOf(timeIn(text, (span) => now - span)) ?? noTime(`${flag} ${text}`, "a time", "an age");
}

/** ISO time, a date, or for so long from now: `15m`, `2h`, `7d`. Answers ISO. */
export function later(text: string, flag: string, now: number): string {
  return isoOf(timeIn(text, (span) => now + span)) ?? noTime(`${flag} ${text}`, "a time to come", "for so long");
}

/** Where no offset is said it is UTC, as every time that is shown. */
function timeIn(text: string, at: (spanMs: number) => number): number {
  const [, count, unit = "s"] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (count !== undefined) return at(Number(count) * 1000 * (unitSeconds[unit] ?? 1));
  if (date.test(text)) return Date.parse(text);
  const [found, offset] = dateAndTime.exec(text) ?? [];
  return found === undefined ? Number.NaN : Date.parse(offset === undefined ? `${found}Z` : found);
}

function isoOf(ms: number): string | undefined {
  return Math.abs(ms) <= lastInstantMs ? new Date(ms).toISOString() : undefined;
}

function noTime(typed: string, what: string, span: string): never {
  throw new UsageProblem(
    `\`${typed}\` is not ${what}. Write \`2026-11-20T12:00:00Z\`, \`2026-11-20\` (UTC, unless an offset is said), or ${span}: \`15m\`, \`2h\`, \`7d\`.`,
  );
}

export function oneOf<T extends string>(text: string, options: readonly T[], flag: string): T {
  const found = options.find((option) => option === text);
  if (found === undefined) throw new UsageProblem(`\`${flag} ${text}\`: \`${text}\` is none of ${options.join(", ")}.`);
  return found;
}

import { UsageProblem } from "../usage-problem.ts";

export function wholeNumber(text: string, flag: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageProblem(`\`${flag} ${text}\` is not a whole number from 0.`);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** ISO time, a date, or an age: `15m`, `2h`, `7d`. Answers ISO. */
export function instant(text: string, flag: string, now: number): string {
  const age = /^(\d+)([smhd])$/.exec(text);
  const ms = age === null ? Date.parse(text) : now - Number(age[1]) * 1000 * (unitSeconds[age[2] ?? "s"] ?? 1);
  if (Number.isNaN(ms))
    throw new UsageProblem(
      `\`${flag} ${text}\` is not a time. Write \`2026-11-20T12:00:00Z\`, \`2026-11-20\`, or an age: \`15m\`, \`2h\`, \`7d\`.`,
    );
  return new Date(ms).toISOString();
}

/** ISO time, a date, or for so long from now: `15m`, `2h`, `7d`. Answers ISO. */
export function later(text: string, flag: string, now: number): string {
  const span = /^(\d+)([smhd])$/.exec(text);
  const ms = span === null ? Date.parse(text) : now + Number(span[1]) * 1000 * (unitSeconds[span[2] ?? "s"] ?? 1);
  if (Number.isNaN(ms) || Math.abs(ms) > 8.64e15)
    throw new UsageProblem(
      `\`${flag} ${text}\` is not a time to come. Write \`2026-11-20T12:00:00Z\`, \`2026-11-20\`, or for so long: \`15m\`, \`2h\`, \`7d\`.`,
    );
  return new Date(ms).toISOString();
}

export function oneOf<T extends string>(text: string, options: readonly T[], flag: string): T {
  const found = options.find((option) => option === text);
  if (found === undefined) throw new UsageProblem(`\`${flag} ${text}\`: \`${text}\` is none of ${options.join(", ")}.`);
  return found;
}

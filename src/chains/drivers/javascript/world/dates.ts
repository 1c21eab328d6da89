/** `Intl.DateTimeFormat` in English, in UTC. */
import { type Locale, localeOf, onlyKnown } from "./locale.ts";

interface Options {
  readonly dateStyle?: "full" | "long" | "medium" | "short";
  readonly timeStyle?: "full" | "long" | "medium" | "short";
  readonly weekday?: "long" | "short" | "narrow";
  readonly year?: "numeric" | "2-digit";
  readonly month?: "long" | "short" | "narrow" | "numeric" | "2-digit";
  readonly day?: "numeric" | "2-digit";
  readonly hour?: "numeric" | "2-digit";
  readonly minute?: "numeric" | "2-digit";
  readonly second?: "numeric" | "2-digit";
  readonly fractionalSecondDigits?: 1 | 2 | 3;
  readonly hour12?: boolean;
  readonly hourCycle?: "h12" | "h23";
  readonly timeZone?: string;
  readonly timeZoneName?: "short" | "long";
}

interface Part {
  readonly type: string;
  readonly value: string;
}

const known: ReadonlySet<string> = new Set(
  "dateStyle timeStyle weekday year month day hour minute second fractionalSecondDigits hour12 hourCycle timeZone timeZoneName".split(
    " ",
  ),
);
const months = "January February March April May June July August September October November December".split(" ");
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const dateStyles: Readonly<Record<string, Options>> = {
  full: { weekday: "long", month: "long", day: "numeric", year: "numeric" },
  long: { month: "long", day: "numeric", year: "numeric" },
  medium: { month: "short", day: "numeric", year: "numeric" },
  short: { month: "numeric", day: "numeric", year: "2-digit" },
};
const timeStyles: Readonly<Record<string, Options>> = {
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
  long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
  short: { hour: "numeric", minute: "2-digit" },
};
const numericDate: Options = { year: "numeric", month: "numeric", day: "numeric" };
const numericTime: Options = { hour: "numeric", minute: "2-digit", second: "2-digit" };
/** What is told where nothing is asked for. */
const usual: Readonly<Record<"date" | "time" | "all" | "any", Options>> = {
  any: numericDate,
  date: numericDate,
  time: numericTime,
  all: { ...numericDate, ...numericTime },
};
const inDate = ["weekday", "year", "month", "day"] as const;
const inTime = ["hour", "minute", "second", "fractionalSecondDigits"] as const;

export class DateTimeFormat {
  readonly #locale: Locale;
  readonly #options: Options;
  readonly format: (date?: unknown) => string;

  /** @param means what a date is told by where the options name no part of it */
  constructor(locales?: unknown, options: Options = {}, means: "date" | "time" | "all" | "any" = "any") {
    this.#locale = localeOf(locales);
    onlyKnown(options, known, "a date's format");
    const { timeZone = "UTC", dateStyle, timeStyle } = options;
    if (!/^(?:UTC|GMT|Etc\/(?:UTC|GMT)|\+00:00)$/i.test(timeZone))
      throw new RangeError(
        `Scripts know the time zone UTC; \`${timeZone.slice(0, 40)}\` is not here. Add the offset yourself, or ask a tool.`,
      );
    if ((means === "date" && timeStyle !== undefined) || (means === "time" && dateStyle !== undefined))
      throw new TypeError(`Invalid option : ${means === "date" ? "timeStyle" : "dateStyle"}`);
    const { hour, hour12, hourCycle } = options;
    if (this.#locale === "en-GB" && (hour === "numeric" || (hour12 ?? hourCycle) !== undefined))
      throw new RangeError(
        'British hours are here with two digits, from 00 to 23: write `hour: "2-digit"`, or `timeStyle`.',
      );
    const asked = [...inDate, ...inTime].filter((name) => options[name] !== undefined);
    if ((dateStyle ?? timeStyle) !== undefined && asked.length > 0)
      throw new TypeError("`dateStyle` and `timeStyle` go with no single parts.");
    const wide = this.#locale === "en-GB" && dateStyle === "short" ? { year: "numeric" as const } : {};
    const styled = { ...(dateStyle && dateStyles[dateStyle]), ...wide, ...(timeStyle && timeStyles[timeStyle]) };
    const lacks = !asked.some(
      (name) => (means !== "date" && isIn(inTime, name)) || (means !== "time" && isIn(inDate, name)),
    );
    const isPlain = (dateStyle ?? timeStyle) === undefined && lacks;
    this.#options = { ...(isPlain && usual[means]), ...styled, ...options };
    this.format = (date) =>
      this.formatToParts(date)
        .map(({ value }) => value)
        .join("");
  }

  /** @throws RangeError for what is no date */
  formatToParts(given?: unknown): Part[] {
    const date = given === undefined ? new Date() : new Date(given instanceof Date ? given : Number(given));
    if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
    const days = this.#date(date);
    const time = this.#time(date);
    if (days.length === 0 || time.length === 0) return [...days, ...time];
    const { month, dateStyle, year, day } = this.#options;
    if ((month ?? year ?? day) === undefined) throw lacking("a weekday and a time alone");
    const isLong = dateStyle === undefined ? month === "long" : dateStyle === "full" || dateStyle === "long";
    const glue = isLong ? " at " : ", ";
    return [...days, literal(glue), ...time];
  }

  resolvedOptions(): object {
    return { locale: this.#locale, calendar: "gregory", numberingSystem: "latn", ...this.#options, timeZone: "UTC" };
  }

  #date(date: Date): Part[] {
    const { weekday, year, month, day } = this.#options;
    const isNamed = month === "long" || month === "short" || month === "narrow";
    const name = weekday && { type: "weekday", value: named(weekdays[date.getUTCDay()], weekday) };
    const ofYear = year && {
      type: "year",
      value: year === "2-digit" ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear()),
    };
    if (this.#locale === "en-GB" && !isNamed && month !== undefined && day !== undefined && month !== day)
      throw lacking("a month and a day of two widths");
    const british = this.#locale === "en-GB" && (year ?? day) !== undefined;
    const ofMonth = month && {
      type: "month",
      value: isNamed
        ? named(months[date.getUTCMonth()], month, this.#locale === "en-GB")
        : digits(date.getUTCMonth() + 1, month === "2-digit" || british),
    };
    const ofDay = day && {
      type: "day",
      value: digits(date.getUTCDate(), day === "2-digit" || (british && !isNamed && ofMonth !== undefined)),
    };
    if (ofMonth === undefined && ofYear !== undefined && (ofDay ?? name) !== undefined)
      throw lacking("a year with a day and no month");
    if (ofDay === undefined && name !== undefined && ofMonth !== undefined)
      throw lacking("a weekday with a month and no day");
    const order = this.#locale === "en-US" ? [ofMonth, ofDay, ofYear] : [ofDay, ofMonth, ofYear];
    const there = order.filter((part) => part !== undefined);
    if (ofMonth === undefined && this.#locale === "en-US" && name !== undefined && ofDay !== undefined)
      return [ofDay, literal(" "), name];
    const glued = there.flatMap((part, n) =>
      n === 0 ? [part] : [literal(isNamed ? this.#comma(part, ofDay) : "/"), part],
    );
    if (name === undefined) return glued;
    const isWide = this.#locale === "en-US" || year !== undefined;
    return glued.length === 0 ? [name] : [name, literal(isWide ? ", " : " "), ...glued];
  }

  #comma({ type }: Part, day: Part | undefined): string {
    return type === "year" && day !== undefined && this.#locale === "en-US" ? ", " : " ";
  }

  #time(date: Date): Part[] {
    const { hour, minute, second, fractionalSecondDigits: parts, timeZoneName: zone } = this.#options;
    if (hour !== undefined && second !== undefined && minute === undefined) throw lacking("seconds without minutes");
    const half = this.#isHalf();
    const hours = date.getUTCHours();
    const isWide = minute !== undefined && (hour !== undefined || second !== undefined);
    const found: (Part | undefined | "")[] = [
      hour && { type: "hour", value: digits(half ? hours % 12 || 12 : hours, !half || hour === "2-digit") },
      minute && { type: "minute", value: digits(date.getUTCMinutes(), isWide) },
      second && { type: "second", value: digits(date.getUTCSeconds(), minute !== undefined) },
    ];
    const there = found.filter((part) => typeof part === "object");
    const said: Part[] = there.flatMap((part, n) => (n === 0 ? [part] : [literal(":"), part]));
    if (parts !== undefined && second !== undefined)
      said.push(literal("."), {
        type: "fractionalSecond",
        value: String(date.getUTCMilliseconds()).padStart(3, "0").slice(0, parts),
      });
    if (hour !== undefined && half) said.push(literal(" "), { type: "dayPeriod", value: hours < 12 ? "AM" : "PM" });
    if (zone === undefined) return said;
    const name = { type: "timeZoneName", value: zone === "long" ? "Coordinated Universal Time" : "UTC" };
    return said.length === 0 ? [name] : [...said, literal(" "), name];
  }

  #isHalf(): boolean {
    const { hour12, hourCycle } = this.#options;
    return hour12 ?? (hourCycle === undefined ? this.#locale === "en-US" : hourCycle === "h12");
  }
}

function isIn(names: readonly string[], name: string): boolean {
  return names.includes(name);
}

function named(name = "", how: string, british = false): string {
  if (british && how === "short" && name === "September") return "Sept";
  return how === "long" ? name : name.slice(0, how === "short" ? 3 : 1);
}

function digits(value: number, isWide: boolean): string {
  return isWide ? two(value) : String(value);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

function literal(value: string): Part {
  return { type: "literal", value };
}

function lacking(what: string): RangeError {
  return new RangeError(`A date cannot be told with ${what} here.`);
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Collator } from "./collation.ts";
import { DateTimeFormat } from "./dates.ts";
import { NumberFormat } from "./numbers.ts";

const numRuns = Number(process.env["FC_RUNS"] ?? 2_000);

/** What it says, or that it does not: refused is never wrong. */
function said(work: () => string): string {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError || error instanceof TypeError) return "refused";
    throw error;
  }
}

function perhaps<T>(...values: readonly T[]): fc.Arbitrary<T | undefined> {
  return fc.option(fc.constantFrom(...values), { nil: undefined });
}

function given<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T; // what is there of it
}

const numberOptions = fc.record({
  style: perhaps("percent", "currency", "decimal"),
  currency: fc.constantFrom("USD", "EUR", "JPY", "GBP", "CHF"),
  minimumFractionDigits: perhaps(0, 1, 2),
  maximumFractionDigits: perhaps(2, 3, 5),
  useGrouping: perhaps(false, true),
  signDisplay: perhaps("always", "never", "exceptZero"),
  maximumSignificantDigits: perhaps(undefined, undefined, 1, 3),
} as const);
const aNumber = fc.oneof(
  fc.double({ min: -1e15, max: 1e15, noNaN: true }),
  fc.integer(),
  fc.integer({ min: -100_000, max: 100_000 }).map((cents) => cents / 100),
  fc.constantFrom(0, -0, 1.005, 0.5, 999_999, 1e21, 0.000123, Number.NaN),
);

const words = { weekday: perhaps("long", "short"), month: perhaps("long", "short", "numeric", "2-digit") } as const;
const width = perhaps("numeric", "2-digit");
const minutes = { minute: perhaps("2-digit"), second: perhaps("2-digit"), hour12: perhaps(true, false) } as const;
const style = perhaps("full", "long", "medium", "short");
const dateOptions = fc.oneof(
  fc.record({ ...words, ...minutes, year: width, day: width, hour: width }),
  fc.record({ dateStyle: style, timeStyle: style }),
) as fc.Arbitrary<Intl.DateTimeFormatOptions>; // of the words above only
const aDate = fc.date({ min: new Date("1900-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });

describe("what scripts read in English", () => {
  it("are numbers as Node writes them", async () => {
    await fc.assert(
      fc.property(aNumber, numberOptions, fc.constantFrom("en-US", "en-GB"), (value, options, locale) => {
        const own = given(options);
        const theirs = said(() => new Intl.NumberFormat(locale, own as Intl.NumberFormatOptions).format(value));
        expect(said(() => new NumberFormat(locale, own as object).format(value))).toBe(theirs);
      }),
      { numRuns },
    );
  });

  it("are short numbers as Node writes them", () => {
    for (const value of [0, 5, 12.5, 999, 999.5, 1000, 1234, 15_500, 99_950, 999_950, 1_234_567, 2.5e9, -3.1e12, 0.012])
      for (const options of [
        {},
        { maximumFractionDigits: 1 },
        { compactDisplay: "long" },
        { style: "currency", currency: "USD" },
      ] as const)
        expect(new NumberFormat("en-US", { notation: "compact", ...options }).format(value)).toBe(
          new Intl.NumberFormat("en-US", { notation: "compact", ...options }).format(value),
        );
  });

  it("are dates as Node writes them, or a refusal", async () => {
    let told = 0;
    await fc.assert(
      fc.property(aDate, dateOptions, fc.constantFrom("en-US", "en-GB"), (date, options, locale) => {
        const own = given(options);
        for (const [means, method] of Object.entries({
          date: "toLocaleDateString",
          time: "toLocaleTimeString",
          all: "toLocaleString",
        } as const)) {
          const ours = said(() => new DateTimeFormat(locale, own as object, means as "date").format(date));
          if (ours === "refused") continue;
          told += 1;
          expect([means, own, ours]).toEqual([
            means,
            own,
            said(() => date[method](locale, { timeZone: "UTC", ...own })),
          ]);
        }
      }),
      { numRuns },
    );
    expect(told).toBeGreaterThan(numRuns / 2);
  });

  it("are names in the order Node gives them", async () => {
    const letter = fc.constantFrom(..."aAbBzZäÄéEøß019 -_.!'");
    const text = fc.array(letter, { maxLength: 6 }).map((letters) => letters.join(""));
    await fc.assert(
      fc.property(
        text,
        text,
        fc.record({ numeric: perhaps(true), sensitivity: perhaps("base", "accent") }),
        (one, other, options) => {
          const own = given(options) as Intl.CollatorOptions;
          expect([one, other, new Collator("en", own as object).compare(one, other)]).toEqual([
            one,
            other,
            Math.sign(new Intl.Collator("en", own).compare(one, other)),
          ]);
        },
      ),
      { numRuns },
    );
  });

  it.each([
    ["9", "09", 0],
    ["a007b", "a7B", -1],
    ["1.05", "1.5", 0],
    ["100", "20", 1],
    ["00", "0", 0],
  ])("compares numbers by what they are, however many zeros they begin with: %s and %s", (one, other, order) => {
    expect(new Intl.Collator("en", { numeric: true }).compare(one, other)).toBe(order);
    expect(new Collator("en", { numeric: true }).compare(one, other)).toBe(order);
  });

  it("is refused where it would be guessed", () => {
    expect(() => new NumberFormat("de-DE")).toThrow(/`de-DE` is not here/);
    expect(() => new DateTimeFormat("en-US", { timeZone: "Europe/Berlin" })).toThrow(/time zone UTC; `Europe\/Berlin`/);
    expect(() => new DateTimeFormat("en-US", { era: "short" } as object)).toThrow(/`era`/);
  });
});

import { expect, it } from "vitest";
import { quietHours } from "./pack.ts";

const berlin = quietHours({ from: "22:00", to: "07:00", timeZone: "Europe/Berlin" });
const noonRest = quietHours({ from: "12:30", to: "13:00", timeZone: "Asia/Kolkata" });

it.each<[string, string, boolean]>([
  ["a minute before", "2026-11-20T20:59:59Z", false],
  ["from the first minute", "2026-11-20T21:00:00Z", true],
  ["past midnight", "2026-11-21T01:00:00Z", true],
  ["until the last minute", "2026-11-21T05:59:59Z", true],
  ["no longer", "2026-11-21T06:00:00Z", false],
  ["in summer an hour earlier", "2026-07-20T20:00:00Z", true],
  ["and so in the morning", "2026-07-20T05:00:00Z", false],
  ["in the hour that comes twice", "2026-10-25T01:30:00Z", true],
])("%s", (_, at, quiet) => expect(berlin(Date.parse(at))).toBe(quiet));

it("a span inside one day, in a zone of half an hour", () => {
  expect(noonRest(Date.parse("2026-11-20T07:00:00Z"))).toBe(true);
  expect(noonRest(Date.parse("2026-11-20T07:30:00Z"))).toBe(false);
});

it("NaN is not quiet, and the answer changes with the minute", () => {
  expect(berlin(Number.NaN)).toBe(false);
  expect([berlin(Date.parse("2026-11-20T21:00:30Z")), berlin(Date.parse("2026-11-20T12:00:30Z"))]).toEqual([
    true,
    false,
  ]);
});

import { afterEach, describe, expect, it } from "vitest";
import { instant, later } from "./flags.ts";
import { UsageProblem } from "./usage-problem.ts";

const now = Date.parse("2026-11-20T12:00:00.000Z");
const { TZ: zone } = process.env;

afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

describe.each(["UTC", "America/New_York", "Asia/Kathmandu"])("a time that is typed in %s", (there) => {
  it.each([
    ["2026-11-20", "2026-11-20T00:00:00.000Z"],
    ["2026-11-20T13:04", "2026-11-20T13:04:00.000Z"],
    ["2026-11-20T13:04:05.5", "2026-11-20T13:04:05.500Z"],
    ["2026-11-20T13:04:05Z", "2026-11-20T13:04:05.000Z"],
    ["2026-11-20T13:04:05+02:00", "2026-11-20T11:04:05.000Z"],
  ])("%s is UTC, unless it says otherwise", (text, iso) => {
    process.env["TZ"] = there;
    expect(instant(text, "--since", now)).toBe(iso);
    expect(later(text, "--until", now)).toBe(iso);
  });
});

it("an age is before now, a span after it", () => {
  expect(instant("90m", "--since", now)).toBe("2026-11-20T10:30:00.000Z");
  expect(later("2d", "--until", now)).toBe("2026-11-22T12:00:00.000Z");
});

it.each(["", "soon", "5", "-5m", "Nov 20", "11/20/2026", "2026-13-01", "2026-11-20T25:00", "99999999999999d"])(
  "`%s` is refused with what to write",
  (text) => {
    for (const read of [instant, later]) {
      expect(() => read(text, "--since", now)).toThrow(UsageProblem);
      expect(() => read(text, "--since", now)).toThrow(`\`--since ${text}\` is not a time`);
    }
  },
);

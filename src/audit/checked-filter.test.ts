import { expect, it } from "vitest";
import { checkedFilter } from "./checked-filter.ts";

it("takes a filter as it is, and a member that is undefined as one that is not there", () => {
  const where = { type: undefined, callId: ["call_1"], since: 0, limit: 3 };
  expect(checkedFilter(where as never)).toBe(where);
});

it.each([
  [7, "The filter is 7"],
  [{ typ: "x" }, "`typ` is no filter of events"],
  [{ type: 5 }, "`type` is 5; it must be a text"],
  [{ since: Number.NaN }, "`since` is NaN; it must be a number"],
  [{ callId: ["a", 1] }, "it must be an id or a list of ids"],
])("refuses %j: %s", (where, said) => {
  expect(() => checkedFilter(where as never)).toThrow(said);
});

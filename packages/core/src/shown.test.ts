import { expect, it } from "vitest";
import { counted } from "./shown.ts";

it("one is one, and everything else is several", () => {
  expect([0, 1, 2].map((number) => counted(number, "call"))).toEqual(["0 calls", "1 call", "2 calls"]);
  expect([1, 2].map((number) => counted(number, "try", "tries"))).toEqual(["1 try", "2 tries"]);
});

import { expect, it } from "vitest";
import { type SlotShares, sharedOut } from "./slot-shares.ts";

const shares = (turn: number, gateways: SlotShares["gateways"]): SlotShares => ({ turn, gateways });

it("gives a slot to the gateway that waits longest, not back to the one that gives it", () => {
  const a = { holds: 1, wants: 3, turn: 1 };
  const b = { holds: 0, wants: 2, turn: 2 };
  const c = { holds: 0, wants: 1, turn: 3 };
  const next = sharedOut(shares(3, { a, b, c }), "a", { holds: 0, wants: 3 }, 1);
  expect(next.gateways["a"]?.holds).toBe(0);
  expect(next.gateways["b"]).toEqual({ holds: 1, wants: 1, turn: 5 });
  expect(next.gateways["c"]).toEqual(c);
});

it("forgets a gateway that neither has nor wants a slot", () => {
  const a = { holds: 2, wants: 0, turn: 1 };
  expect(sharedOut(shares(1, { a }), "a", { holds: 0, wants: 0 }, 2).gateways).toEqual({});
});

import { expect, it } from "vitest";
import { callOf, recordOf } from "../../test/contracts/records.ts";
import { FakeClock } from "../../test/fakes/clock.ts";
import { childKey } from "../core/child-key.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { keyOf } from "../pipeline/gates/once.ts";
import { Earlier } from "./earlier.ts";

const noParts = {} as Parts; // neither of the two asks for any
const standing = { number: 0, batchEnd: 1 };

it("a call whose row has another key under its number is a conflict: sent on, it would run once more", async () => {
  const clock = new FakeClock();
  const plain = callOf(clock, { idempotencyKey: childKey("script", 0) });
  const call = { ...plain, authority: { ...plain.authority, fromChain: true } as const };
  const rowOf = (key = ""): Earlier => new Earlier(new Map(), new Map([[0, recordOf(call, { key })]]));
  expect(await rowOf(keyOf(call)).enter(call, standing, noParts)).toBe(call);
  expect(await rowOf("key_of_another_rule").enter(call, standing, noParts)).toMatchObject({
    ending: "refused",
    refusal: { code: "idempotency_conflict" },
  });
});

import { childKey } from "@postern/core";
import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Parts } from "../pipeline/dependencies.ts";
import { keyOf } from "../pipeline/gates/call-names.ts";
import { callOf, recordOf } from "../testing/records.ts";
import { Journal } from "./journal.ts";
import { Replay } from "./replay.ts";

const noParts = {} as Parts; // neither case reads any
const asked = { place: 0, tool: "send", arguments: {} };

it("refuses a call whose row has another key under its number: it would run twice", async () => {
  const clock = new FakeClock();
  const plain = callOf(clock, { idempotencyKey: childKey("script", 0) });
  const call = { ...plain, authority: { ...plain.authority, fromChain: true } as const };
  const replayOf = (key = ""): Replay => {
    const replay = new Replay(new Journal(100), new Map([[0, recordOf(call, { key })]]));
    replay.beginBatch([asked]);
    return replay;
  };
  expect(await replayOf(keyOf(call)).enter(asked, call, noParts)).toBe(call);
  expect(await replayOf("key_of_another_rule").enter(asked, call, noParts)).toMatchObject({
    ending: "refused",
    refusal: { code: "idempotency_conflict" },
  });
});

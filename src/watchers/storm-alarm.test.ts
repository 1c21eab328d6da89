import { expect, it } from "vitest";
import { FakeClock, settled } from "../../test/fakes/clock.ts";
import type { CallEvent } from "../calls/event.ts";
import { type Note, stormAlarm } from "./storm-alarm.ts";

const blocked = (tenant: string, as = "storm_blocked"): CallEvent =>
  ({
    moment: "ended",
    as,
    call: { id: "call_1", tool: "notify", authority: { principal: { tenant, agent: "a" } } },
  }) as unknown as CallEvent; // the alarm looks at no more

it("tells a storm once an hour and tenant, and nothing else", async () => {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const watch = stormAlarm(
    clock,
    async (_, __, { tenant }) => void told.push(tenant),
    () => {},
  );
  for (const event of [blocked("a"), blocked("a"), blocked("b"), blocked("c", "blocked")]) watch(event);
  await clock.advance(3_599_999);
  watch(blocked("a"));
  expect(told).toEqual(["a", "b"]);
  await clock.advance(1);
  watch(blocked("a"));
  expect(told).toEqual(["a", "b", "a"]);
});

it("an alarm that could not be written is logged, and told by the next blocked call", async () => {
  const log: string[] = [];
  let calls = 0;
  const note: Note = async () => {
    calls += 1;
    if (calls === 1) throw new Error("disk full");
  };
  const watch = stormAlarm(new FakeClock(), note, (problem) => void log.push(problem));
  watch(blocked("a"));
  await settled();
  expect(log.join()).toContain("disk full");
  watch(blocked("a"));
  watch(blocked("a"));
  await settled();
  expect(calls).toBe(2);
});

import { expect, it } from "vitest";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { approvalOf, callOf, recordOf } from "../testing/records.ts";
import { durationsOf } from "./durations.ts";

const at = new FakeClock().now();
const call = callOf(new FakeClock(), { arrivedAt: at });
const ran = { state: "ok", startedAt: at + 5_000, endedAt: at + 5_300 } as const;

/** The id of an arrival. */
function idOf(ms: number): string {
  return `call_${ms.toString(16).padStart(12, "0").replace(/^.{8}/, "$&-")}-7000-8000-000000000001`;
}

it("durations are found for rows and requests that were written before", () => {
  const row = recordOf(call, { ...ran, approvalId: "apr_1", attemptedBy: idOf(at + 4_990) });
  const decision = { as: "approved", by: "ann", via: "session:ann", at: at + 1_020 } as const;
  const approval = approvalOf(row, { state: "used", requestedAt: at + 20, expiresAt: at + 9_000, decision });
  expect(durationsOf(row, approval)).toEqual({ gate_ms: 30, waiting_ms: 1_000, tool_ms: 300 });
  expect(durationsOf({ ...row, attemptedBy: "call_of_a_stranger" }, approval)).toMatchObject({ waiting_ms: 1_000 });
});

it("durations are never negative, and are missing where nothing is known", () => {
  const back = recordOf(call, { ...ran, startedAt: at - 10, endedAt: at - 20 });
  expect(durationsOf(back, undefined)).toEqual({ gate_ms: 0, tool_ms: 0 });
  expect(durationsOf(recordOf(call, { state: "held", approvalId: "apr_erased" }), undefined)).toEqual({});
  expect(durationsOf(recordOf(call, { ...ran, state: "unknown" }), undefined)).toEqual({ gate_ms: 5_000 });
  expect(durationsOf(recordOf(call, { ...ran, endUnseen: true }), undefined)).toEqual({ gate_ms: 5_000 });
});

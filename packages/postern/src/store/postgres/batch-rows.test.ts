import { SystemClock } from "@postern/core";
import { expect, it } from "vitest";
import { callOf, recordOf } from "../../testing/records.ts";
import { BatchRows } from "./batch-rows.ts";

const record = recordOf(callOf(new SystemClock()), { match: "match" });
const equal = { match: "match", runId: undefined, modelCall: undefined, except: undefined };

/** The row as it was read by its key, and a moment later as one that answers equal calls. */
function rowsOf(version: number, liveVersion: number, now = 0): BatchRows {
  const calls = version === 0 ? [] : [[record.key, { version, row: record }] as const];
  const live = new Map([["match", [{ version: liveVersion, row: record }]]]);
  const others = { approvals: new Map(), documents: new Map(), scopes: new Map() };
  return new BatchRows({ incarnation: "inc", now, known: { calls: new Map(calls), live, ...others } });
}

it.each([
  [0, 1],
  [1, 2],
  [2, 1],
])("checks a version that no row has if a call was read with versions %d and %d", (version, liveVersion) => {
  const rows = rowsOf(version, liveVersion);
  rows.call(record.key);
  rows.answering(equal);
  expect(rows.checkedCalls.get(record.key)).toBe(-1);
  rows.call(record.key);
  expect(rows.checkedCalls.get(record.key)).toBe(-1);
});

it("checks the version of a call that was read twice without a change", () => {
  const rows = rowsOf(3, 3);
  rows.call(record.key);
  rows.answering(equal);
  expect(rows.checkedCalls.get(record.key)).toBe(3);
});

it("gives a call that was erased and begins again a version that its first row never had", () => {
  const versions = [10, 2000].map((now) => {
    const rows = rowsOf(0, 0, now);
    rows.take({ won: true, call: record });
    return [rows.isNew(record.key), rows.calls.get(record.key)?.version];
  });
  expect(versions).toEqual([
    [true, 11],
    [true, 2001],
  ]);
  const next = rowsOf(11, 11);
  next.take({ won: true, call: record });
  expect([next.isNew(record.key), next.calls.get(record.key)?.version]).toEqual([false, 12]);
});

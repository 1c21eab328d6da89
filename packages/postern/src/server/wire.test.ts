import { refusal } from "@postern/core";
import { outcome as outcomeSchema, shape } from "@postern/core/contract";
import { expect, it } from "vitest";
import { anApproval, anOutcome, aRecord } from "../../../../test/fakes/stub-runtime.ts";
import { callToWire, feedEventToWire, outcomeToWire, shownApproval } from "./wire.ts";

const at = Date.UTC(2026, 10, 20);
const outcome = anOutcome({
  content: [
    { type: "image", mediaType: "image/png", artifact: "d1", name: "a.png" },
    { type: "text", text: "done" },
  ],
  structured: { itsOwnName: { andDeeper: 1 } },
  artifact: "d2",
  files: [{ path: "/workspace/media/a_1.png", mediaType: "image/png", artifact: "d1" }],
  refusal: refusal("tool_failed", undefined, { itsOwnDetail: 1 }),
  preview: { summary: "s", diff: "d", supported: true },
  approvalId: "apr_1",
  expiresAt: at,
  replayed: true,
  timedOut: true,
});
it("gives an outcome exactly as the contract has it, with its blocks in snake_case", () => {
  const given = outcomeToWire(outcome, "t");
  expect(shape(outcomeSchema, given)).toEqual(given);
  expect(given.content).toContainEqual({ type: "image", media_type: "image/png", artifact: "d1", name: "a.png" });
});

it("leaves a tool's own names and values untouched", () => {
  expect(outcomeToWire(outcome, "t").structured).toBe(outcome.structured);
  const record = aRecord();
  expect(callToWire(record, undefined).arguments).toBe(record.call.arguments);
  const data = { itsOwnName: 1 };
  const event = { id: "1", type: "t", at: "", tenant: "", agent: "", traceId: "", summary: "", data };
  expect(feedEventToWire(event).data).toBe(data);
});

it("says times as ISO 8601 in UTC", () => {
  expect(outcomeToWire(outcome, "t").expires_at).toBe("2026-11-20T00:00:00.000Z");
  expect(outcomeToWire(anOutcome({ expiresAt: Number.MAX_SAFE_INTEGER }), "t").expires_at).toMatch(/^\+275760/);
});

it("says how to approve while that can be done, and not afterwards", () => {
  expect(outcomeToWire(anOutcome({ status: "pending", approvalId: "apr_1" }), "t").how_to_approve).toBe(
    "A person decides in the Postern console.",
  );
  expect(
    outcomeToWire(anOutcome({ status: "denied", approvalId: "apr_1", refusal: refusal("approval_denied") }), "t")
      .how_to_approve,
  ).toBeUndefined();
});

it("shows what was asked beside what runs, after an edit only", () => {
  expect(shownApproval(anApproval()).asked).toBeUndefined();
  const edited = { ...anApproval(), arguments: { to: "b" } };
  expect(shownApproval(edited)).toMatchObject({
    asked: { to: "a" },
    what: { arguments: { to: "b" } },
  });
});

it("a wait that ran out is refused and says which request is open still", () => {
  const details = { approval_id: "apr_1", expires_at: "2026-11-20T00:00:00.000Z" };
  const timedOut = anOutcome({ status: "denied", refusal: refusal("approval_timed_out", undefined, details) });
  expect(outcomeToWire(timedOut, "t")).toMatchObject({
    status: "denied",
    ...details,
    how_to_approve: "A person decides in the Postern console.",
  });
  const refused = anOutcome({ status: "denied", refusal: refusal("approval_denied", undefined, details) });
  expect(outcomeToWire(refused, "t").approval_id).toBeUndefined();
});

import { expect, it } from "vitest";
import { anApproval } from "../../../test/fakes/stub-runtime.ts";
import { type ApprovalWire, approvalToWire } from "../wire-approvals.ts";
import { approvalCard } from "./card.ts";

const card = (more: Partial<ApprovalWire>): string =>
  approvalCard({ ...approvalToWire(anApproval()), ...more }, 0, (_, text) => text);

it("the card says what its reader may say to it, where that is not everything", () => {
  const message = "`ann` asked for this call and cannot decide it; another person must.";
  expect(card({ viewer: { may: [], why_not: "requester", message } })).toMatch(/^ {2}you +`ann` asked for this call/m);
  expect(card({ viewer: { may: ["deny", "skip"], why_not: "sign_in", message: "sign in" } })).toMatch(
    /^ {2}you +may deny, skip only: sign in$/m,
  );
  expect(card({ viewer: { may: ["approve", "deny"] } })).not.toMatch(/^ {2}you /m);
  expect(card({ status: "denied", viewer: { may: [], why_not: "over", message } })).not.toMatch(/^ {2}you /m);
});

it("the card shows votes that count no more with why, and what was asked for before an edit", () => {
  const { routed } = approvalToWire(anApproval());
  const votes = [{ as: "approved", by: "ann", at: "2026-01-01T00:00:00.000Z", lapsed: "`ann` is disabled" }];
  const shown = card({ routed: { ...routed, quorum: 2 }, votes, asked: { to: "before" } });
  expect(shown).toContain("ann: approved (counts no more: `ann` is disabled)");
  expect(shown).toMatch(/^ {2}asked for +to = before$/m);
});

import { expect, it } from "vitest";
import { type ApprovalView, isAlike, markOf } from "../../console/src/api/approvals.ts";
import { shownApproval } from "../../packages/postern/src/server/wire.ts";
import { anApproval } from "../fakes/stub-runtime.ts";

const sent = shownApproval(anApproval());
const { routed, why } = sent;

it("an edit or a stricter route changes what an approval applies to; a vote does not", () => {
  expect(markOf({ ...sent, shown_digest: "other" })).not.toBe(markOf(sent));
  expect(markOf({ ...sent, routed: { ...routed, typed_confirmation: true } })).not.toBe(markOf(sent));
  expect(markOf({ ...sent, routed: { ...routed, to: { users: ["ann"] } } })).not.toBe(markOf(sent));
  const vote = { as: "approved", by: "ann", via: "session:1", at: sent.created_at };
  expect(markOf({ ...sent, votes: [vote], quorum_left: 0 })).toBe(markOf(sent));
});

it("groups requests of one run, tool, definition, risk and reasons; none that needs a typed name", () => {
  expect(isAlike(sent, { ...sent, approval_id: "apr_2", what: { ...sent.what, arguments: { to: "other" } } })).toBe(
    true,
  );
  const others: readonly Partial<ApprovalView>[] = [
    { refs: { ...sent.refs, run: "other" } },
    { what: { ...sent.what, tool: "other" } },
    { what: { ...sent.what, action: "other" } },
    { definition: "other" },
    { risk_level: "medium" },
    { why: [...why, { rule: "rule confirm #2", effect: "CONFIRM" }] },
    { routed: { ...routed, typed_confirmation: true } },
    { risk_level: "critical" },
  ];
  for (const other of others) expect(isAlike(sent, { ...sent, ...other })).toBe(false);
  const critical: ApprovalView = { ...sent, risk_level: "critical" };
  expect(isAlike(critical, critical)).toBe(false);
});

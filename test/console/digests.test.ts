import { expect, it } from "vitest";
import type { ApprovalView } from "../../console/src/api/approvals.ts";
import { mismatchesOf, mismatchText } from "../../console/src/api/digests.ts";
import type { Preview } from "../../packages/core/src/outcome.ts";
import { digestOf } from "../../packages/core/src/system/digest.ts";
import { bind, previewDigest } from "../../packages/postern/src/approvals/binding.ts";
import { shownApproval } from "../../packages/postern/src/server/wire.ts";
import { anApproval } from "../fakes/stub-runtime.ts";

const previews: readonly Preview[] = [
  { summary: "Sends it", supported: true },
  { summary: "One line", supported: true, diff: "-a\n+b", details: { rows: [1, null] } },
  { summary: "Rows", supported: true, table: { columns: ["id"], rows: [["1"]] } },
  { summary: "A mail", supported: true, message: { to: ["ada"], subject: "hi", body: "Hello" } },
  { summary: "", supported: false, problem: "it failed" },
];

function sent(preview: Preview | undefined): ApprovalView {
  const record = anApproval("mail-agent");
  const { tool, action, principal, key, definition, arguments: given, expiresAt } = record;
  const call = { tool, action, digest: digestOf(given), authority: { principal }, key, found: { definition } };
  const kept = { ...record, binding: bind(call, expiresAt) };
  const shown = preview && { preview, previewDigest: previewDigest(preview) };
  return JSON.parse(JSON.stringify(shownApproval({ ...kept, ...shown }))) as ApprovalView; // wire.test-d.ts holds that it is one
}

it.each([undefined, ...previews])(
  "computes the digests that the server binds an approval to, with preview %j",
  async (preview) => {
    expect(await mismatchesOf(sent(preview))).toEqual([]);
    expect(mismatchText([])).toBeUndefined();
  },
);

it("finds a card whose arguments, preview, risk, reason or summary differ from the digest", async () => {
  const approval = sent(previews[2]);
  const { preview, what } = approval;
  if (preview === undefined) throw new Error("It has one.");
  const changed = (change: Partial<ApprovalView>) => mismatchesOf({ ...approval, ...change });
  expect(await changed({ what: { ...what, arguments: { to: "mallory" } } })).toEqual(["arguments"]);
  expect(await changed({ digest: "0".repeat(64) })).toEqual(["arguments", "card"]);
  expect(await changed({ preview: { ...preview, summary: "No rows" } })).toEqual(["preview"]);
  expect(await changed({ preview: { ...preview, table: { columns: ["id"], rows: [] } } })).toEqual(["preview"]);
  expect(await changed({ preview: { ...preview, problem: "none" } })).toEqual(["card"]);
  expect(await changed({ risk_level: "safe" })).toEqual(["card"]);
  expect(await changed({ why: [] })).toEqual(["card"]);
  expect(await changed({ summary: "It is harmless." })).toEqual(["card"]);
  expect(await changed({ binding: "0".repeat(64) })).toEqual(["card"]);
  expect(await changed({ what: { ...what, tool: "other" } })).toEqual(["card"]);
  expect(await changed({ requested_by: { ...approval.requested_by, agent: "other" } })).toEqual(["card"]);
  expect(await changed({ expires_at: "2030-01-01T00:00:00.000Z" })).toEqual(["card"]);
  const { preview: _, ...without } = approval;
  expect(await mismatchesOf(without)).toEqual(["preview"]);
  expect(mismatchText(["arguments", "card"])).toContain("the arguments and the card of this request do not");
});

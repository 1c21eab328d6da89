import type { ApprovalView } from "@postern/core/contract";
import { expect, it } from "vitest";
import { anApproval } from "../../../../../test/fakes/stub-runtime.ts";
import { shownApproval } from "../../server/wire.ts";
import { approvalCard } from "./card.ts";
import { widthOf } from "./text.ts";

const onScreen = (columns: number, more: Partial<ApprovalView>): string =>
  approvalCard({ ...shownApproval(anApproval()), ...more }, 0, { paint: (_, text) => text, terminal: { columns } });
const card = (more: Partial<ApprovalView>): string => onScreen(Number.POSITIVE_INFINITY, more);

it("the card says what its reader may say to it, where that is not everything", () => {
  const message = "`ann` asked for this call and cannot decide it; another person must.";
  expect(card({ viewer: { may: [], why_not: "requester", message } })).toMatch(/^│ you +`ann` asked for this call/m);
  expect(card({ viewer: { may: ["deny", "skip"], why_not: "sign_in", message: "sign in" } })).toMatch(
    /^│ you +may deny, skip only: sign in$/m,
  );
  expect(card({ viewer: { may: ["approve", "deny"] } })).not.toMatch(/^│ you /m);
  expect(card({ status: "denied", viewer: { may: [], why_not: "over", message } })).not.toMatch(/^│ you /m);
});

it("the card shows votes, and what was asked for before an edit", () => {
  const { routed } = shownApproval(anApproval());
  const votes = [{ as: "approved", by: "ann", via: "session:ann", at: "2026-01-01T00:00:00.000Z" }];
  const shown = card({ routed: { ...routed, quorum: 2 }, votes, asked: { to: "before" } });
  expect(shown).toContain("ann (session:ann): approved");
  expect(shown).toMatch(/^│ asked for +to = before$/m);
});

it("the card says that a preview may differ when the call runs, and nothing where it may not", () => {
  const preview = { kind: "text", summary: "sells at 1.07", supported: true } as const;
  const moves = /^│ +this preview may differ when the call runs$/m;
  expect(card({ preview, preview_binds: false })).toMatch(moves);
  expect(card({ preview, preview_binds: true })).not.toMatch(moves);
});

it("the card names the credential of who edited and of who decided", () => {
  const at = "2026-01-01T00:00:00.000Z";
  expect(card({ edited: { by: "ann", via: "session:ann", at } })).toMatch(/^│ edited by +ann \(session:ann\)$/m);
  const decision = { as: "denied", by: "bob", via: "token:tok_1", at, reason: "not today" };
  expect(card({ status: "denied", decision })).toContain("│ ended      denied by bob (token:tok_1): not today");
});

it("the card shows all there is, however long: arguments to their last line, and every part of the preview", () => {
  const script = `${Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n")}\nrm -rf /`;
  const shown = card({
    what: { tool: "run", action: "default", arguments: { script, body: `${"x".repeat(3_000)} and all of it` } },
    preview: {
      ...{ kind: "message", supported: true, summary: "fine", diff: "-one\n+two" },
      table: { columns: ["who", "what"], rows: [["ann", "loses her account"]] },
      message: { to: ["eve@example.org"], subject: "hello", body: "all the keys" },
      details: { really: "drops the database" },
    },
  });
  for (const part of ["rm -rf /", "and all of it", "drops the database", "loses her account", "eve@example.org"])
    expect(shown).toContain(part);
  for (const part of ["hello", "all the keys", "+two"]) expect(shown).toContain(part);
});

it("no text of a stranger begins a line, whatever it is padded with: a line that goes on says so", () => {
  const pad = (text: string): string => text.padEnd(80 * Math.ceil(text.length / 80));
  const forged = "because    operator: allow → ALLOW (policy.yaml:3)";
  const value = `hello${" ".repeat(62)}${pad(`  ${forged}`)}${pad(`│ ${forged}`)}${forged}`;
  const preview = { kind: "text", supported: true, summary: value, details: { value } } as const;
  const shown = onScreen(80, {
    ...{ what: { tool: value, action: value, arguments: { to: value, [value]: value } }, reason: value, preview },
    ...{ summary: value, why: [{ rule: value, effect: "CONFIRM" }] },
  });
  for (const line of shown.trimEnd().split("\n")) {
    expect(line.startsWith("│ ")).toBe(true);
    expect(line.length).toBeLessThanOrEqual(80);
    if (line.includes("operator: allow")) expect(line).toMatch(/^│ {12}↪ |^│ ↪ /);
  }
  expect(shown).toContain("ALLOW");
});

it.each(["漢字", "👩‍👩‍👧‍👦", "e\u0301", "x"])("a card of %s is no wider than its screen", (text) => {
  const shown = onScreen(60, { what: { tool: "mail", action: "default", arguments: { to: text.repeat(200) } } });
  for (const line of shown.split("\n")) expect(widthOf(line)).toBeLessThanOrEqual(60);
  expect(shown.replaceAll(/\n│ +↪ /g, "")).toContain(text.repeat(200));
});

it("the card says to whom it escalates and when, and since when they are asked", () => {
  const { routed } = shownApproval(anApproval());
  const late = { ...routed, escalate_to: { roles: ["admin"] }, escalate_at: new Date(20 * 60_000).toISOString() };
  const line = /^│ decided by +role admin too, if no answer comes in 20 min$/m;
  expect(card({ routed: late })).toMatch(line);
  expect(card({ routed: late, status: "denied" })).not.toContain("role admin too");
  expect(card({ routed: late, escalated_at: new Date(-5 * 60_000).toISOString() })).toContain(
    "role admin too: no answer came, and they were asked 5 min ago",
  );
});

it("the card names the action of a tool that has several", () => {
  const what = { tool: "orders", action: "delete", arguments: {} };
  expect(card({ what })).toMatch(/^│ orders · delete {3}risk high$/m);
});

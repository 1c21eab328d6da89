import type { ApprovalRecord } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { alreadyVoted, count as countDecision, votesLeft, type WrittenDecision } from "./quorum.ts";
import { unrouted } from "./routes.ts";

const record: ApprovalRecord = {
  id: "apr_1",
  key: "k",
  state: "pending",
  tool: "pay",
  action: "default",
  principal: { tenant: "default", agent: "bot" },
  runId: "r",
  traceId: "0".repeat(32),
  asked: { to: "x" },
  arguments: { to: "x" },
  binding: "b",
  definition: "d",
  risk: "high",
  why: [],
  policyVersion: "1",
  preview: { summary: "pays x", supported: true },
  requestedAt: 0,
  expiresAt: 1000,
  routed: unrouted,
};
const count = (before: ApprovalRecord, decision: WrittenDecision, at: number) =>
  countDecision(before, { ...decision, at });
const decisionOf = (
  as: "approved" | "denied" | "skipped",
  by: string,
  more: Partial<WrittenDecision> = {},
): WrittenDecision => ({
  as,
  by,
  via: `user:${by}`,
  ...more,
});
const edit = { arguments: { to: "y" }, binding: "c", risk: "critical", why: [] } as const;

describe("counting", () => {
  it("approves with the n-th approval by different persons, and not before", () => {
    const one = count(record, decisionOf("approved", "ann", { quorum: 2 }), 1);
    expect(one).toMatchObject({ ends: false, next: { state: "pending", votes: [{ by: "ann", as: "approved" }] } });
    const two = count(one?.next ?? record, decisionOf("approved", "bob", { quorum: 2 }), 2);
    expect(two).toMatchObject({ ends: true, next: { state: "approved", decision: { as: "approved", by: "bob" } } });
    expect(two?.next.votes).toHaveLength(2);
  });

  it.each([
    ["twice", decisionOf("approved", "ann", { quorum: 3 })],
    ["by another credential", decisionOf("approved", "ann", { quorum: 3, via: "token:other" })],
    ["under another name", decisionOf("approved", "eve", { quorum: 3, via: "user:ann" })],
    ["in another spelling", decisionOf("approved", "Ann", { quorum: 3 })],
    ["in full-width letters", decisionOf("approved", "ＡＮＮ", { quorum: 3 })],
  ])("counts no person %s", (_, again) => {
    const one = count(record, decisionOf("approved", "ann", { quorum: 3 }), 1);
    expect(count(one?.next ?? record, again, 2)).toBeUndefined();
  });

  it.each([
    ["their own", decisionOf("approved", "ann"), "`ann` has voted on `apr_1` already; another person must."],
    ["another of the channel", decisionOf("approved", "bob", { via: "channel:ops" }), "`channel:ops` has voted"],
    ["another person's", decisionOf("approved", "bob"), "was cast already"],
  ])("names whose vote was counted before: %s", (_, first, expected) => {
    const voted = count(record, { ...first, quorum: 3 }, 1)?.next ?? record;
    expect(alreadyVoted(voted, { by: "ann", via: "channel:ops" })).toContain(expected);
  });

  it("ends with one denial, also by a person who approved before", () => {
    const one = count(record, decisionOf("approved", "ann", { quorum: 2 }), 1);
    expect(count(one?.next ?? record, decisionOf("denied", "ann", { quorum: 2 }), 2)).toMatchObject({
      ends: true,
      next: { state: "denied", decision: { by: "ann" } },
    });
  });

  it("voids votes on other arguments: an edit starts the count again, without the old preview", () => {
    const one = count(record, decisionOf("approved", "ann", { quorum: 2 }), 1);
    const edited = count(
      one?.next ?? record,
      { as: "modified", by: "bob", via: "user:bob", quorum: 2, edited: edit },
      2,
    );
    expect(edited).toMatchObject({
      ends: false,
      next: { state: "pending", arguments: { to: "y" }, asked: { to: "x" }, risk: "critical", edited: { by: "bob" } },
    });
    expect(edited?.next.votes).toMatchObject([{ by: "bob", as: "approved" }]);
    expect(edited?.next).not.toHaveProperty("preview");
  });

  it("approves only with as many different persons as required, in any order of decisions", async () => {
    const decision = fc.record({
      by: fc.constantFrom("ann", "bob", "cal", "dan", "eli"),
      via: fc.constantFrom("one", "two", "three", "four", "five"),
      as: fc.constantFrom(...(["approved", "modified", "denied", "skipped"] as const)),
    });
    await fc.assert(
      fc.property(fc.array(decision, { maxLength: 16 }), fc.integer({ min: 1, max: 4 }), (decisions, quorum) => {
        let now = record;
        for (const { as, ...who } of decisions) {
          const written = { ...who, as, quorum, ...(as === "modified" && { edited: edit }) } as const;
          const counted = count(now, written, 1);
          if (counted === undefined) continue;
          now = counted.next;
          if (counted.ends) break;
        }
        const votes = now.votes ?? [];
        const yeses = votes.filter(({ as }) => as === "approved").length;
        expect(votesLeft(now, quorum)).toBe(Math.max(0, quorum - yeses));
        const last = votes.at(-1)?.as;
        const no = last === "approved" ? undefined : last;
        expect(now.state).toBe(no ?? (yeses >= quorum ? "approved" : "pending"));
        const yesVotes = votes.filter(({ as }) => as === "approved");
        for (const name of ["by", "via"] as const) expect(new Set(yesVotes.map((vote) => vote[name])).size).toBe(yeses);
      }),
    );
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApprovalRecord } from "../core/records.ts";
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
const says = (
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
  it("approves with the n-th yes of different persons, and not before", () => {
    const one = count(record, says("approved", "ann", { quorum: 2 }), 1);
    expect(one).toMatchObject({ ends: false, next: { state: "pending", votes: [{ by: "ann", as: "approved" }] } });
    const two = count(one?.next ?? record, says("approved", "bob", { quorum: 2 }), 2);
    expect(two).toMatchObject({ ends: true, next: { state: "approved", decision: { as: "approved", by: "bob" } } });
    expect(two?.next.votes).toHaveLength(2);
  });

  it.each([
    ["twice", says("approved", "ann", { quorum: 3 })],
    ["by another credential", says("approved", "ann", { quorum: 3, via: "token:other" })],
    ["under another name", says("approved", "eve", { quorum: 3, via: "user:ann" })],
    ["through a delegate", says("approved", "eve", { quorum: 3, onBehalfOf: "ann" })],
    ["in another spelling", says("approved", "Ann", { quorum: 3 })],
    ["in another spelling through a delegate", says("approved", "eve", { quorum: 3, onBehalfOf: "ＡＮＮ" })],
  ])("counts no person %s", (_, again) => {
    const one = count(record, says("approved", "ann", { quorum: 3 }), 1);
    expect(count(one?.next ?? record, again, 2)).toBeUndefined();
  });

  it("does not let an approver vote a second time beside the delegate", () => {
    const one = count(record, says("approved", "bob", { quorum: 3, onBehalfOf: "ann" }), 1);
    expect(count(one?.next ?? record, says("approved", "ann", { quorum: 3 }), 2)).toBeUndefined();
    expect(count(one?.next ?? record, says("approved", "cal", { quorum: 3, onBehalfOf: "bob" }), 2)).toBeUndefined();
  });

  it.each([
    ["their own", says("approved", "ann"), "`ann` has voted on `apr_1` already; another person must."],
    ["a delegate", says("approved", "bob", { onBehalfOf: "ann" }), "already, by `bob` in their place;"],
    ["another of the channel", says("approved", "bob", { via: "channel:ops" }), "`channel:ops` has voted"],
    ["another who was lent it", says("approved", "bob", { onBehalfOf: "eve" }), "was cast already"],
  ])("says truly whose word there is already: %s", (_, first, said) => {
    const voted = count(record, { ...first, quorum: 3 }, 1)?.next ?? record;
    expect(alreadyVoted(voted, { by: "ann", via: "channel:ops" })).toContain(said);
  });

  it("ends with one denial, also by a person who approved before", () => {
    const one = count(record, says("approved", "ann", { quorum: 2 }), 1);
    expect(count(one?.next ?? record, says("denied", "ann", { quorum: 2 }), 2)).toMatchObject({
      ends: true,
      next: { state: "denied", decision: { by: "ann" } },
    });
  });

  it("voids approvals of other arguments: an edit starts without the old preview", () => {
    const one = count(record, says("approved", "ann", { quorum: 2 }), 1);
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

  it("approves only with enough different persons, in any order of votes", async () => {
    const word = fc.record({
      by: fc.constantFrom("ann", "bob", "cal", "dan", "eli"),
      via: fc.constantFrom("one", "two", "three", "four", "five"),
      as: fc.constantFrom(...(["approved", "modified", "denied", "skipped"] as const)),
      onBehalfOf: fc.option(fc.constantFrom("eve", "fay", "ann"), { nil: undefined }),
    });
    await fc.assert(
      fc.property(fc.array(word, { maxLength: 16 }), fc.integer({ min: 1, max: 4 }), (words, quorum) => {
        let now = record;
        for (const { as, ...who } of words) {
          const ruling = { ...who, as, quorum, ...(as === "modified" && { edited: edit }) } as const;
          const said = count(now, ruling, 1);
          if (said === undefined) continue;
          now = said.next;
          if (said.ends) break;
        }
        const votes = now.votes ?? [];
        const yeses = votes.filter(({ as }) => as === "approved").length;
        expect(votesLeft(now, quorum)).toBe(Math.max(0, quorum - yeses));
        const last = votes.at(-1)?.as;
        const no = last === "approved" ? undefined : last;
        expect(now.state).toBe(no ?? (yeses >= quorum ? "approved" : "pending"));
        const yesVotes = votes.filter(({ as }) => as === "approved");
        for (const name of ["by", "via"] as const) expect(new Set(yesVotes.map((vote) => vote[name])).size).toBe(yeses);
        const persons = yesVotes.flatMap(({ by, onBehalfOf }) =>
          onBehalfOf === undefined || onBehalfOf === by ? [by] : [by, onBehalfOf],
        );
        expect(new Set(persons).size).toBe(persons.length);
      }),
    );
  });
});

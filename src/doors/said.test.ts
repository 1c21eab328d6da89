import { describe, expect, it } from "vitest";
import { noTakes, saidOf, saidOfMany } from "./said.ts";

const routed = { quorum: 3, deny: "quorum" } as const;
const open = { status: "pending", what: { tool: "drop" }, quorum_left: 3, routed, votes: [{ as: "denied" }] };

describe("what somebody's word has brought", () => {
  it("is no denial while more people must say no, and a no is never told as a yes", () => {
    for (const verb of ["deny", "skip"] as const)
      expect(saidOf(verb, open)).toBe("Your no is counted: 2 more people must say no before drop is denied.");
    const one = { ...open, votes: [{ as: "denied" }, { as: "skipped" }, { as: "denied", lapsed: "ann is disabled" }] };
    expect(saidOf("deny", one)).toContain("1 more person must say no");
    expect(noTakes(one)).toBe("a no takes 3 people as well, 2 of them said it");
    expect(noTakes({ ...one, votes: [] })).toBe("a no takes 3 people as well");
    expect(noTakes({ ...one, routed: { quorum: 3, deny: "any" } })).toBeUndefined();
  });

  it("is a counted yes while more people must agree", () => {
    expect(saidOf("approve", { ...open, quorum_left: 1 })).toBe(
      "Your yes is counted: 1 more person must agree to drop.",
    );
    expect(saidOf("modify", { ...open, quorum_left: 2 })).toContain("as your yes: 2 more people must agree");
  });

  it("is what becomes of the call when it is over", () => {
    const over = (status: string) => ({ ...open, status, quorum_left: 0 });
    expect(saidOf("approve", over("approved"))).toContain("drop runs once, with exactly these arguments");
    expect(saidOf("modify", over("approved"))).toMatch(/^Approved as you edited it\. drop runs once/);
    expect(saidOf("deny", over("denied"))).toBe("Denied. drop does not run; its agent is told so.");
    expect(saidOf("skip", over("skipped"))).toMatch(/^Skipped\. drop does not run/);
    expect(saidOf("withdraw", over("withdrawn"))).toBe("Withdrawn. drop does not run.");
    expect(saidOf("revoke", over("withdrawn"))).toBe("Revoked. drop does not run.");
  });

  it("names the action of a tool that has several", () => {
    const what = { tool: "orders", action: "delete" };
    const over = { ...open, what, status: "approved", quorum_left: 0 };
    expect(saidOf("approve", over)).toMatch(/^Approved\. orders · delete runs once/);
    expect(saidOf("approve", { ...over, what: { ...what, action: "default" } })).toMatch(
      /^Approved\. orders runs once/,
    );
  });

  it("of many tells apart what was decided, what was counted and what was not taken", () => {
    const answers = [
      { decided: true, approval: { status: "approved" } },
      { decided: true, approval: { status: "pending" } },
      { decided: true, approval: { status: "pending" } },
      { decided: false },
    ];
    expect(saidOfMany("approve", answers)).toBe("1 approved; 2 counted, and more people must agree; 1 not taken.");
    expect(saidOfMany("deny", answers.slice(1, 3))).toBe("2 counted, and more people must say no.");
    expect(saidOfMany("skip", [{ decided: true, approval: { status: "skipped" } }])).toBe("1 skipped.");
  });
});

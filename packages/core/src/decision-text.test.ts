import { describe, expect, it } from "vitest";
import { decisionsText, decisionText } from "./decision-text.ts";

const open = { status: "pending", what: { tool: "drop" }, quorum_left: 3 };

describe("the sentence about a decision", () => {
  it("is a counted yes while more people must agree", () => {
    expect(decisionText("approve", { ...open, quorum_left: 1 })).toBe(
      "Your approval is counted: 1 more person must agree to drop.",
    );
    expect(decisionText("modify", { ...open, quorum_left: 2 })).toContain("as your approval: 2 more people must agree");
  });

  it("is what becomes of the call when it is over", () => {
    const over = (status: string) => ({ ...open, status, quorum_left: 0 });
    expect(decisionText("approve", over("approved"))).toContain("drop runs once, with exactly these arguments");
    expect(decisionText("modify", over("approved"))).toMatch(/^Approved as you edited it\. drop runs once/);
    expect(decisionText("deny", over("denied"))).toBe("Denied. drop does not run; its agent is told.");
    expect(decisionText("skip", over("skipped"))).toMatch(/^Skipped\. drop does not run/);
    expect(decisionText("withdraw", over("withdrawn"))).toBe("Withdrawn. drop does not run.");
    expect(decisionText("revoke", over("withdrawn"))).toBe("Revoked. drop does not run.");
  });

  it("names the action of a tool that has several", () => {
    const what = { tool: "orders", action: "delete" };
    const over = { ...open, what, status: "approved", quorum_left: 0 };
    expect(decisionText("approve", over)).toMatch(/^Approved\. orders · delete runs once/);
    expect(decisionText("approve", { ...over, what: { ...what, action: "default" } })).toMatch(
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
    expect(decisionsText("approve", answers)).toBe("1 approved; 2 counted, and more people must agree; 1 not taken.");
    expect(decisionsText("skip", [{ decided: true, approval: { status: "skipped" } }])).toBe("1 skipped.");
  });
});

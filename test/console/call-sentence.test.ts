import { describe, expect, it } from "vitest";
import type { ApprovalView } from "../../console/src/api/approvals.ts";
import { approvedText, callSentence } from "../../console/src/screens/approvals/call-sentence.ts";

const calls = (tool: string, given: object, action = "default") => ({
  what: { tool, action, arguments: given } as ApprovalView["what"],
});

describe("the sentence of a call", () => {
  it.each([
    [{ body: "Hello", subject: "Invoice", to: "ada@example.org" }, "to ada@example.org, subject Invoice"],
    [{ amount: 1240.5, to: ["a", "b"] }, "to a and b, amount 1240.5"],
    [{ set: { a: 1 }, table: "tickets" }, "table tickets"],
    [{ text: `one\n${"x".repeat(100)}` }, `text one ${"x".repeat(55)}…`],
  ])("names the arguments that tell the target: %j", (given, target) => {
    expect(callSentence(calls("send", given), "write")).toBe(`send changes or sends something: ${target}.`);
  });

  it("says what the tool declares, without a target if no argument tells one", () => {
    expect(callSentence(calls("files__wipe", { bucket: "b" }, "all"), "destructive")).toBe(
      "wipe · all may delete or overwrite something: bucket b.",
    );
    expect(callSentence(calls("clock", { force: true }), "read")).toBe("clock only reads.");
    expect(callSentence(calls("gone", {}), undefined)).toBe("gone runs.");
  });

  it("is short after the approval", () => {
    expect(approvedText(calls("files__send", { to: "ada@example.org", text: "x" }))).toBe(
      "Approved: send to ada@example.org",
    );
    const decision = { as: "modified", by: "ann", via: "session", at: "" };
    expect(approvedText({ ...calls("clock", {}), decision })).toBe("Approved as edited: clock");
  });
});

import { describe, expect, it } from "vitest";
import { approvalsAddress, auditAddress, policyAddress, runsAddress } from "../../console/src/address.ts";

describe("the query of an address", () => {
  it("keeps what the screen knows", () => {
    const all = { state: "decided", risk: "high", mine: true, tool: "mail", agent: "a", run_id: "r", search: "x y" };
    expect(approvalsAddress(all)).toEqual(all);
    const audit = { text: "x", type: "gate.denied", by: "ada", since: "2026-11-27T12:00", call_id: "c" };
    expect(auditAddress(audit)).toEqual(audit);
  });

  it("leaves out values and names that it does not know, of any kind", () => {
    const wrong = { state: "pending", risk: "HIGH", mine: "true", tool: "", agent: {}, run_id: null, search: ["x"] };
    expect(approvalsAddress({ ...wrong, more: 1 })).toEqual({});
    expect(policyAddress({ autonomy: "A9", call: false, agent: undefined })).toEqual({});
    expect(approvalsAddress({ risk: "constructor", state: "__proto__" })).toEqual({});
  });

  it("takes digits as text: a run may be called 42", () => {
    expect(runsAddress({ search: 42, call: 0 })).toEqual({ search: "42", call: "0" });
  });
});

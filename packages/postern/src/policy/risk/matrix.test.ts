import { type Autonomy, type Risk, rankOf, risks, type Verdict } from "@postern/core";
import { describe, expect, it } from "vitest";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy } from "../decide.ts";
import type { Facts } from "../policy.ts";
import type { MatrixChanges } from "../schema.ts";
import { cellOf, defaultMatrix, matrixOf } from "./matrix.ts";

const invalid = (text: string): unknown =>
  expect.objectContaining({ code: "policy_invalid", message: expect.stringContaining(text) });

function facts(risk: Risk, autonomy: Autonomy | undefined): Facts {
  return factsOf(tool("mail", { action: "send", risk }), { autonomy });
}

describe("the gate matrix", () => {
  /** SPEC 6.4, written again by hand. */
  const cells: readonly (readonly [number, Autonomy, Risk, Verdict])[] = [
    [106, "A0", "safe", "PREVIEW"],
    [107, "A0", "medium", "PREVIEW"],
    [108, "A0", "high", "PREVIEW"],
    [109, "A0", "critical", "PREVIEW"],
    [110, "A1", "safe", "CONFIRM"],
    [111, "A1", "medium", "CONFIRM"],
    [112, "A1", "high", "CONFIRM"],
    [113, "A1", "critical", "BLOCK"],
    [114, "A2", "safe", "ALLOW"],
    [115, "A2", "medium", "CONFIRM"],
    [116, "A2", "high", "CONFIRM"],
    [117, "A2", "critical", "BLOCK"],
    [118, "A3", "safe", "ALLOW"],
    [119, "A3", "medium", "ALLOW"],
    [120, "A3", "high", "CONFIRM"],
    [121, "A3", "critical", "BLOCK"],
    [122, "A4", "safe", "ALLOW"],
    [123, "A4", "medium", "ALLOW"],
    [124, "A4", "high", "ALLOW"],
    [125, "A4", "critical", "CONFIRM"],
  ];

  for (const [number, autonomy, risk, verdict] of cells) {
    it(`answers ${autonomy} with ${risk} risk with ${verdict} (case ${number})`, () => {
      const decision = createPolicy().decide(facts(risk, autonomy));
      expect(decision).toMatchObject({ verdict, risk });
      expect(decision.reasons).toContainEqual({
        rule: `matrix ${autonomy}/${risk}`,
        effect: verdict,
      });
    });
  }

  it("blocks an unknown autonomy level or risk (case 126)", () => {
    const policy = createPolicy();
    for (const [autonomy, risk] of [
      ["A9", "safe"],
      ["A4", "harmless"],
      ["constructor", "safe"],
      ["A4", "toString"],
      [undefined, "none"],
      ["", ""],
    ]) {
      expect(
        policy.decide({
          ...facts("safe", "A4"),
          tool: { ...facts("safe", "A4").tool, risk: risk as Risk },
          autonomy: autonomy as Autonomy,
        }).verdict,
      ).toBe("BLOCK");
      expect(cellOf(defaultMatrix, String(autonomy), String(risk))).toBe("BLOCK");
    }
  });

  it("takes cells from configuration and keeps the others", () => {
    const matrix = matrixOf({ A2: { medium: "ALLOW", safe: "CONFIRM" } }, false);
    expect(matrix.A2).toEqual({
      safe: "CONFIRM",
      medium: "ALLOW",
      high: "CONFIRM",
      critical: "BLOCK",
    });
    expect({ ...matrix, A2: defaultMatrix.A2 }).toEqual(defaultMatrix);
    expect(createPolicy({ matrix: { A3: { high: "BLOCK" } } }).decide(facts("high", "A3")).verdict).toBe("BLOCK");
  });

  it.each([
    [{ A5: { safe: "ALLOW" } }, "`A5`"],
    [{ constructor: { safe: "ALLOW" } }, "`constructor`"],
    [{ A2: { harmless: "ALLOW" } }, "`matrix.A2.harmless`"],
    [{ A2: { safe: "MAYBE" } }, '`"MAYBE"`'],
    [{ A2: { low: "ALLOW" } }, "write `safe` if it has no side effect, else `medium`"],
    [{ A0: { safe: "ALLOW" } }, "A0 never runs"],
    [{ A0: { safe: "CONFIRM" } }, "A0 never runs"],
    [{ A4: { critical: "ALLOW" } }, "allowUnattendedCritical"],
  ])("refuses the cells %j and names what is wrong", (changes, named) => {
    expect(() => createPolicy({ matrix: changes as MatrixChanges })).toThrow(invalid(named));
  });

  it("lets critical calls run unasked only with the explicit option", () => {
    const policy = createPolicy({
      matrix: { A4: { critical: "ALLOW" } },
      allowUnattendedCritical: true,
    });
    expect(policy.decide(facts("critical", "A4")).verdict).toBe("ALLOW");
  });

  it("refuses a held call when the level is lowered to a BLOCK cell (case 104)", () => {
    const policy = createPolicy();
    expect(policy.decide(facts("critical", "A4")).verdict).toBe("CONFIRM");
    expect(policy.decide(facts("critical", "A2")).verdict).toBe("BLOCK");
  });
});

describe("the threshold", () => {
  const answers = (policy: ReturnType<typeof createPolicy>): readonly string[] =>
    risks.map((risk) => policy.decide(facts(risk, undefined)).verdict);

  it("orders risks by rank and not by alphabet (case 14)", () => {
    expect([...risks].sort((one, other) => rankOf(one) - rankOf(other))).toEqual([
      "safe",
      "medium",
      "high",
      "critical",
    ]);
    expect([...risks].sort()).not.toEqual(risks);
  });

  it("is safe where nothing was set: everything above is asked about, critical too", () => {
    const decision = createPolicy().decide(facts("critical", undefined));
    expect(answers(createPolicy())).toEqual(["ALLOW", "CONFIRM", "CONFIRM", "CONFIRM"]);
    expect(decision.reasons).toContainEqual({ rule: "threshold safe", effect: "CONFIRM" });
  });

  it("at high runs high unasked and asks about critical (case 76)", () => {
    expect(answers(createPolicy({ maxRiskUnapproved: "high" }))).toEqual(["ALLOW", "ALLOW", "ALLOW", "CONFIRM"]);
  });

  it("takes approvalRequiredRisk: critical runs high, high asks about both (case 77)", () => {
    const at = (approvalRequiredRisk: Risk) => answers(createPolicy({ approvalRequiredRisk }));
    expect(at("critical")).toEqual(["ALLOW", "ALLOW", "ALLOW", "CONFIRM"]);
    expect(at("high")).toEqual(["ALLOW", "CONFIRM", "CONFIRM", "CONFIRM"]);
    expect(at("medium")).toEqual(at("high"));
    expect(() => at("safe")).toThrow(invalid("confirm"));
    const both = { approvalRequiredRisk: "high", maxRiskUnapproved: "high" } as const;
    expect(() => createPolicy(both)).toThrow(invalid("in two ways"));
  });

  it("at critical is refused without the explicit opt-in (case 78)", () => {
    expect(() => createPolicy({ maxRiskUnapproved: "critical" })).toThrow(invalid("allowUnattendedCritical"));
    expect(answers(createPolicy({ maxRiskUnapproved: "critical", allowUnattendedCritical: true }))).toEqual([
      "ALLOW",
      "ALLOW",
      "ALLOW",
      "ALLOW",
    ]);
  });

  it("of a session never lets critical run unasked by itself", () => {
    const asked = createPolicy().decide({
      ...facts("critical", undefined),
      maxRiskUnapproved: "critical",
    });
    expect(asked.verdict).toBe("CONFIRM");
  });

  it("of a session narrows the policy's and never widens it", () => {
    const policy = createPolicy({ maxRiskUnapproved: "medium" });
    const verdict = (maxRiskUnapproved: Risk): string =>
      policy.decide({ ...facts("medium", undefined), maxRiskUnapproved }).verdict;
    expect([verdict("safe"), verdict("high")]).toEqual(["CONFIRM", "ALLOW"]);
    expect(policy.decide({ ...facts("high", undefined), maxRiskUnapproved: "high" }).verdict).toBe("CONFIRM");
  });

  it("joins the matrix only where it was set", () => {
    expect(createPolicy().decide(facts("high", "A4")).verdict).toBe("ALLOW");
    expect(createPolicy({ maxRiskUnapproved: "medium" }).decide(facts("high", "A4")).verdict).toBe("CONFIRM");
    expect(createPolicy({ maxRiskUnapproved: "high" }).decide(facts("high", "A2")).verdict).toBe("CONFIRM");
  });

  it("refuses an unknown level, and low with advice", () => {
    const advice = invalid("write `safe` if it has no side effect, else `medium`");
    expect(() => createPolicy({ maxRiskUnapproved: "low" as Risk })).toThrow(advice);
    expect(() => createPolicy({ rules: [{ effect: "allow", risk: "low" as Risk }] })).toThrow(advice);
    expect(() => createPolicy({ maxRiskUnapproved: "some" as Risk })).toThrow(invalid("some"));
    expect(createPolicy().decide({ ...facts("safe", "A4"), maxRiskUnapproved: "some" as Risk }).verdict).toBe("BLOCK");
  });
});

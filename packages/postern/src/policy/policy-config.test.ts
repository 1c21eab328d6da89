import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { createPolicy } from "./decide.ts";
import { policyOptionsFrom } from "./options.ts";
import { policySchemas } from "./schema.ts";

const policySchema = policySchemas().section;

const text = `
default: deny
rules:
  - { effect: allow, tool: "mail__*", server: mail, id: mail }
  - effect: deny
    principal: { user: eve }
    reason: left the company
matrix:
  A2: { medium: ALLOW, safe: CONFIRM }
max_risk_unapproved: safe
`;

describe("the policy section of a file", () => {
  it("becomes options, each rule with its place in the file", () => {
    const options = policyOptionsFrom(policySchema.parse(parse(text)), (path) => `postern.yaml ${path.join(".")}`);
    expect(options).toEqual({
      default: "deny",
      rules: [
        {
          effect: "allow",
          tool: "mail__*",
          server: "mail",
          id: "mail",
          where: "postern.yaml rules.0",
        },
        {
          effect: "deny",
          principal: { user: "eve" },
          reason: "left the company",
          where: "postern.yaml rules.1",
        },
      ],
      matrix: { A2: { medium: "ALLOW", safe: "CONFIRM" } },
      maxRiskUnapproved: "safe",
    });
    expect(createPolicy(options).version).toMatch(/^[0-9a-f]{16}$/);
  });

  it("that is empty is the default policy", () => {
    expect(policyOptionsFrom(policySchema.parse({}))).toEqual({});
  });

  it("names a rule's place by its number where the file cannot say it", () => {
    expect(policyOptionsFrom({ rules: [{ effect: "deny" }] }).rules?.[0]?.where).toBe("policy.rules[0]");
  });

  it("takes the risk that needs approval as a program does, and as the threshold below it", () => {
    const of = (section: Parameters<typeof policyOptionsFrom>[0]) => createPolicy(policyOptionsFrom(section)).version;
    expect(of({ approval_required_risk: "critical" })).toBe(createPolicy({ maxRiskUnapproved: "high" }).version);
    expect(of({ approval_required_risk: "high" })).toBe(createPolicy({ approvalRequiredRisk: "high" }).version);
    expect(() => of({ approval_required_risk: "critical", max_risk_unapproved: "high" })).toThrow(
      expect.objectContaining({ code: "policy_invalid" }),
    );
  });

  it.each([
    { rules: [{ effect: "permit" }] },
    { rules: [{ effect: "deny", tol: "mail" }] },
    { rules: [{ effect: "deny", tool: "" }] },
    { matrix: { A5: { safe: "ALLOW" } } },
    { matrix: { A2: { harmless: "ALLOW" } } },
    { matrix: { A2: { safe: "allow" } } },
    { max_risk_unapproved: "none" },
    { rule: [] },
  ])("refuses %j", (section) => {
    expect(policySchema.safeParse(section).success).toBe(false);
  });

  it("can be written as JSON Schema for editors", () => {
    expect(z.toJSONSchema(policySchema)).toMatchObject({
      type: "object",
      properties: { max_risk_unapproved: { enum: ["safe", "medium", "high", "critical"] } },
    });
  });
});

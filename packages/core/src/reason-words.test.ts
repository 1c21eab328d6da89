import { describe, expect, it } from "vitest";
import { decide, tool } from "../../../test/fakes/policy-facts.ts";
import { reasonWords } from "./reason-words.ts";
import { autonomies, risks } from "./risk.ts";

describe("the words of a reason", () => {
  it.each([
    ["matrix A2/high", "CONFIRM", "agents at level A2 need approval for high-risk calls"],
    ["matrix A2/safe", "ALLOW", "agents at level A2 make safe calls without approval"],
    ["matrix A2/critical", "BLOCK", "agents at level A2 may not make critical-risk calls"],
    ["matrix A0/medium", "PREVIEW", "agents at level A0 only get previews of medium-risk calls"],
    ["threshold safe", "CONFIRM", "calls above risk safe need approval"],
    ["threshold high", "ALLOW", "calls up to risk high run without approval"],
    ["default: allow", "ALLOW", "no rule refuses it"],
    ["default: shell needs a rule that names `sh`", "DENY", "a tool that runs a shell needs a rule that names `sh`"],
    ["scope mail:write missing", "DENY", "the agent lacks the scope `mail:write`"],
    ["override secrets scope `secrets:a`", "PREVIEW", "tools with the scope `secrets:a` are only previewed"],
    ["rule confirm #2 (mine): it\nasks", "CONFIRM", "rule confirm #2 (mine): it\nasks"],
  ] as const)("for %s, %s: %s", (rule, effect, words) => {
    expect(reasonWords({ rule, effect })).toBe(words);
  });

  it("holds no name that the policy itself gives, at every level and risk", () => {
    for (const autonomy of [undefined, ...autonomies])
      for (const risk of risks) {
        const more = { risk, scopes: ["secrets:read"], effects: "destructive" } as const;
        const { reasons } = decide({ rules: [{ effect: "allow", tool: "t" }] }, tool("t", more), { autonomy });
        for (const reason of reasons)
          expect(reasonWords(reason)).not.toMatch(/^(?:matrix|threshold|default:|adjuster|override|pack:)/);
      }
  });
});

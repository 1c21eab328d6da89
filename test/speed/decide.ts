/**
 * Prints how many times as long one decision with five hundred rules takes as parsing JSON of a hundred rules, from the best
 * of two hundred short rounds of each. A ratio holds on a slow machine too.
 */
import { createPolicy } from "../../packages/postern/src/policy/decide.ts";
import type { Rule } from "../../packages/postern/src/policy/rules/rule-schema.ts";
import { factsOf, tool } from "../fakes/policy-facts.ts";

const rules: Rule[] = Array.from({ length: 500 }, (_, i) => ({
  effect: i % 7 === 0 ? "deny" : "allow",
  tool: i % 2 === 0 ? `tool_${i}` : `other_${i}*`,
}));
const policy = createPolicy({ rules: [...rules, { effect: "deny", principal: { user: "eve" } }] });
const plain = Object.freeze(tool("mail", { action: "send", scopes: Object.freeze(["a", "b"]) })); // as registered tools are
const asked = factsOf(plain, { scopes: ["b", "a"], suggestion: { risk: "medium" } });
const text = JSON.stringify(rules.slice(0, 100));

function bestOf(work: () => unknown): number {
  const rounds = Array.from({ length: 200 }, () => {
    const began = performance.now();
    for (let i = 0; i < 500; i += 1) work();
    return performance.now() - began;
  });
  return Math.min(...rounds);
}

console.log(bestOf(() => policy.decide(asked)) / bestOf(() => JSON.parse(text)));

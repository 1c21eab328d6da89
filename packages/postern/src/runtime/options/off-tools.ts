import { defaultPrincipal } from "@postern/core";
import { harmless } from "@postern/core/system";
import { needsOwnRule } from "../../policy/rules/permission.ts";
import type { Offer } from "../../tools/tool.ts";
import type { Runtime } from "../api/api.ts";
import type { RuntimeOptions } from "./options.ts";

/**
 * Warns of a program's own tools that no agent is offered because no rule of the policy names them, now and when one is
 * registered later. Without the warning such a tool is only missing from the model's list.
 */
export function warnOfOffTools(runtime: Runtime, { policy, log }: RuntimeOptions): void {
  const warn = harmless(log ?? ((message) => process.emitWarning(message)));
  const rules = policy !== undefined && "rules" in policy ? (policy.rules ?? []) : [];
  const isNamed = (name: string): boolean => rules.some(({ effect, tool }) => effect !== "deny" && tool === name);
  const look = (offers: readonly Offer[]): void => {
    const seen = new Set(runtime.offered(defaultPrincipal).map(({ tool }) => tool));
    const off = offers.filter(({ tool, facts }) => {
      const isOwn = facts.server === undefined; // an operator reviews the tools of servers
      return isOwn && needsOwnRule(facts) && !seen.has(tool) && !isNamed(tool);
    });
    const names = [...new Set(off.map(({ tool }) => tool))];
    if (names.length > 0) warn(warningOf(names));
  };
  look(runtime.tools.offers());
  runtime.tools.follow(({ change, name }) => {
    if (change === "added") look(runtime.tools.offers().filter(({ tool }) => tool === name));
  });
}

function warningOf(names: readonly string[]): string {
  const list = names.map((name) => `\`${name}\``).join(", ");
  const rules = names.map((tool) => `{ effect: "confirm", tool: ${JSON.stringify(tool)} }`).join(", ");
  const verb = names.length === 1 ? "is" : "are";
  return `${list} ${verb} offered to no agent: a tool that is destructive or runs a shell is off until a policy rule names it. Write in \`policy.rules\`: ${rules}; or \`effect: "allow"\` to ask no person.`;
}

import { type Principal, type Risk, rankOf } from "@postern/core";
import type { Facts, ToolFacts } from "../policy.ts";
import { asks, denies, permits } from "./condition.ts";
import { type AppliedRule, needsOwnRule, type PermissionRule, permissionFrom } from "./permission.ts";
import type { CompiledRule, RuleSet } from "./rules.ts";

/** The rules that concern one tool and one principal. */
export class ToolRules {
  readonly rules: readonly CompiledRule[];
  readonly #tool: ToolFacts;
  readonly #defaultEffect: "allow" | "deny";

  /** @throws TypeError if tool or principal has no name, so that the call is denied */
  constructor(
    { ruleSet, defaultEffect }: { readonly ruleSet: RuleSet; readonly defaultEffect: "allow" | "deny" },
    tool: ToolFacts,
    principal: Principal,
  ) {
    if (typeof tool.tool !== "string" || typeof tool.action !== "string")
      throw new TypeError("The tool or its action has no name.");
    if (typeof principal.tenant !== "string" || typeof principal.agent !== "string")
      throw new TypeError("The principal has no tenant or no agent.");
    this.rules = ruleSet.rulesFor(tool).filter(({ fitsPrincipal }) => fitsPrincipal?.(principal) !== false);
    this.#tool = tool;
    this.#defaultEffect = defaultEffect;
  }

  /** A rule reads arguments or the past. */
  get hasConditions(): boolean {
    return this.rules.some(({ demands }) => demands !== undefined);
  }

  /**
   * What the rules say about one call, by its risk.
   *
   * @param facts undefined for a report without a call: then no condition holds
   */
  permission(facts: Facts | undefined): (risk: Risk) => PermissionRule {
    const applied = this.rules.map((rule) => appliedTo(rule, facts));
    return (risk) => {
      const rank = rankOf(risk);
      const fitting = applied.map((one) =>
        one.rule.fitsRisk?.(rank) === false ? { rule: one.rule, permits: false, takesEffect: false } : one,
      );
      return permissionFrom(fitting, this.#tool, this.#defaultEffect);
    };
  }

  /** Whether some call of the tool could be permitted. */
  offers(observing: boolean): boolean {
    const { risk, riskSource } = this.#tool;
    const lowest = riskSource === "declared" ? 0 : rankOf(risk); // the tool itself may lower the risk of one call
    const isDenied = this.rules.some(
      ({ effect, origin, demands, fitsRisk }) =>
        effect === "deny" &&
        demands === undefined &&
        fitsRisk?.(lowest) !== false &&
        !(observing && origin === "config"),
    );
    if (isDenied) return false;
    const permitting = this.rules.filter(
      ({ effect, origin, fitsRisk }) =>
        effect !== "deny" && origin === "config" && (effect === "confirm" || fitsRisk?.(lowest) !== false),
    );
    if (needsOwnRule(this.#tool) && !permitting.some(({ namesTool }) => namesTool)) return false;
    return observing || this.#defaultEffect === "allow" || permitting.length > 0;
  }
}

/** An allow only permits, a deny only denies. A confirm permits only the calls that it asks about. */
function appliedTo(rule: CompiledRule, facts: Facts | undefined): AppliedRule {
  const { effect, origin, demands } = rule;
  const held = demands === undefined ? permits | denies | asks : facts === undefined ? 0 : demands(facts);
  const takesEffect = effect === "deny" ? (held & denies) > 0 : effect === "confirm" && (held & asks) > 0;
  const mayPermit = effect === "allow" || (effect === "confirm" && takesEffect);
  return { rule, permits: mayPermit && (held & permits) > 0 && origin === "config", takesEffect };
}

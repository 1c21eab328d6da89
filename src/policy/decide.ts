import type { Principal, Risk } from "../calls/call.ts";
import { messageOf, RuntimeFault } from "../calls/fault.ts";
import { digestOf, type Json } from "../calls/json.ts";
import { autonomies, risks } from "../calls/risk.ts";
import { Draft, layers, missingScope, type Terms } from "./layers.ts";
import { type MatrixChanges, matrixOf } from "./matrix.ts";
import { KnownTool, type Permission } from "./permission.ts";
import type { Decision, Facts, Policy, ToolFacts } from "./policy.ts";
import { compileRules, type Rule, type RuleBook } from "./rules.ts";
import { checkedThreshold } from "./threshold.ts";

export interface PolicyOptions {
  /** Deny wins, and their order means nothing. */
  readonly rules?: readonly Rule[];
  /** For tools no rule speaks of. `allow`: registering a tool enables it (D27), destructive ones excepted. */
  readonly default?: "allow" | "deny";
  /** Cells that replace those of SPEC 6.4. */
  readonly matrix?: MatrixChanges;
  /** Above it a person is asked. Joins the matrix when set; without an autonomy level it decides, from `safe`. */
  readonly maxRiskUnapproved?: Risk;
  /** Lets a threshold or a cell run critical calls unasked. */
  readonly allowUnattendedCritical?: boolean;
}

/**
 * Reads the options once; later changes to them change nothing.
 *
 * @throws RuntimeFault `policy_invalid`, naming what is wrong
 */
export function createPolicy(options: PolicyOptions = {}): Policy {
  return new LayeredPolicy(options);
}

const optionNames: readonly string[] = ["rules", "default", "matrix", "maxRiskUnapproved", "allowUnattendedCritical"];

class LayeredPolicy implements Policy {
  readonly version: string;
  readonly #book: RuleBook;
  readonly #otherwise: "allow" | "deny";
  readonly #terms: Omit<Terms, "permission">;
  readonly #known = new WeakMap<ToolFacts, KnownTool>();

  constructor(options: PolicyOptions) {
    for (const name of Object.keys(options)) {
      if (!optionNames.includes(name))
        throw new RuntimeFault(
          "policy_invalid",
          `\`${name}\` is no option of a policy; it has ${optionNames.join(", ")}.`,
        );
    }
    const {
      rules = [],
      default: otherwise = "allow",
      matrix = {},
      maxRiskUnapproved,
      allowUnattendedCritical = false,
    } = options;
    if (otherwise !== "allow" && otherwise !== "deny") {
      throw new RuntimeFault("policy_invalid", `\`default\` is \`${String(otherwise)}\`; it is allow or deny.`);
    }
    this.#book = compileRules(rules);
    this.#otherwise = otherwise;
    this.#terms = {
      matrix: matrixOf(matrix, allowUnattendedCritical),
      maxRiskUnapproved:
        maxRiskUnapproved === undefined ? undefined : checkedThreshold(maxRiskUnapproved, allowUnattendedCritical),
      allowUnattendedCritical,
    };
    this.version = versionOf(rules, otherwise, this.#terms);
  }

  decide(facts: Facts): Decision {
    try {
      return this.#decide(facts);
    } catch (error) {
      return this.#denyFor(error);
    }
  }

  offers(principal: Principal, tool: ToolFacts): boolean {
    try {
      return this.#meet(tool).permissionOf(principal).allowed;
    } catch {
      return false; // what cannot be decided is not offered; a call of it gets the reason
    }
  }

  /** The same question gets the same object: records of a decision are spelled once and found by it. */
  #decide(facts: Facts): Decision {
    const permission = this.#meet(facts.tool).permissionOf(facts.principal);
    const question = missingScope(facts.tool.scopes, facts.scopes) === undefined ? questionOf(facts) : undefined;
    if (question === undefined) return this.#think(facts, permission);
    const before = permission.decisions.get(question);
    if (before !== undefined) return before;
    const decision = this.#think(facts, permission);
    permission.decisions.set(question, decision);
    return decision;
  }

  #think(facts: Facts, permission: Permission): Decision {
    const terms: Terms = { ...this.#terms, permission };
    const draft = new Draft();
    for (const layer of layers) {
      layer(facts, draft, terms);
      if (draft.denied) break;
    }
    const { risk, missingScope: scope } = draft;
    return Object.freeze({
      verdict: draft.denied ? "DENY" : draft.verdict,
      risk,
      reasons: Object.freeze(draft.reasons.map((reason) => Object.freeze(reason))),
      policyVersion: this.version,
      ...(facts.tool.server !== undefined && { connector: facts.tool.server }),
      ...(scope !== undefined && { missingScope: scope }),
    });
  }

  #meet(tool: ToolFacts): KnownTool {
    const met = this.#known.get(tool);
    if (met?.isStill(tool)) return met;
    const known = new KnownTool(tool, this.#book, this.#otherwise);
    this.#known.set(tool, known);
    return known;
  }

  #denyFor(error: unknown): Decision {
    const reasons = Object.freeze([{ rule: `policy error: ${messageOf(error)}`, says: "DENY" as const }]);
    return Object.freeze({
      verdict: "DENY",
      risk: "critical",
      reasons,
      policyVersion: this.version,
    });
  }
}

const autonomyNumbers: ReadonlyMap<unknown, number> = new Map<unknown, number>(
  [undefined, ...autonomies].map((level, i) => [level, i]),
);
const riskNumbers: ReadonlyMap<unknown, number> = new Map<unknown, number>(
  [undefined, ...risks].map((risk, i) => [risk, i]),
);

/** Everything a decision hangs on beside tool, permission and scopes, as one number; undefined when a word in it is unknown. */
function questionOf({ autonomy, maxRiskUnapproved, suggestion }: Facts): number | undefined {
  const level = autonomyNumbers.get(autonomy);
  const threshold = riskNumbers.get(maxRiskUnapproved);
  const suggested = riskNumbers.get(suggestion?.risk);
  if (level === undefined || threshold === undefined || suggested === undefined) return undefined;
  return (level * 5 + threshold) * 5 + suggested;
}

/** Over what the options mean, not how they were written: defaults filled in, places in files left out. */
function versionOf(
  rules: readonly Rule[],
  otherwise: string,
  { matrix, maxRiskUnapproved, allowUnattendedCritical }: Omit<Terms, "permission">,
): string {
  const plainRules = rules.map(({ where: _where, ...rule }): Json => JSON.parse(JSON.stringify(rule)));
  return digestOf({
    format: 1,
    default: otherwise,
    rules: plainRules,
    matrix,
    maxRiskUnapproved: maxRiskUnapproved ?? null,
    allowUnattendedCritical,
  }).slice(0, 16); // a name for people and records, not a seal
}

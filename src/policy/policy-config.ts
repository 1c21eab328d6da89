/** The `policy` section of a configuration file (snake_case) and what it becomes. Only src/config imports this: the policy itself knows no zod. */
import { z } from "zod";
import { RuntimeFault } from "../calls/fault.ts";
import { autonomies, parseRisk, risks, verdicts } from "../calls/risk.ts";
import type { PolicyOptions } from "./decide.ts";
import type { MatrixChanges } from "./matrix.ts";
import { thresholdFor } from "./threshold.ts";

type Level = "safe" | "low" | "medium" | "high" | "critical";

export interface RuleFile {
  readonly effect: "allow" | "confirm" | "deny";
  readonly tool?: string | undefined;
  readonly action?: string | undefined;
  readonly server?: string | undefined;
  readonly principal?:
    | {
        readonly tenant?: string | undefined;
        readonly agent?: string | undefined;
        readonly user?: string | undefined;
      }
    | undefined;
  readonly id?: string | undefined;
  readonly reason?: string | undefined;
}

export interface PolicyFile {
  readonly default?: "allow" | "deny" | undefined;
  readonly rules?: readonly RuleFile[] | undefined;
  readonly matrix?: MatrixChanges | undefined;
  readonly max_risk_unapproved?: Level | undefined;
  readonly approval_required_risk?: Level | undefined;
  readonly allow_unattended_critical?: boolean | undefined;
}

const name = z.string().min(1);
const level = z.enum(["low", ...risks]);
const rule = z.strictObject({
  effect: z
    .enum(["allow", "confirm", "deny"])
    .describe("deny wins; confirm asks a person; allow permits what the default refuses"),
  tool: name.optional().describe("name of the tool; * stands for anything"),
  action: name.optional(),
  server: name.optional().describe("the upstream server the tool comes from"),
  principal: z.strictObject({ tenant: name.optional(), agent: name.optional(), user: name.optional() }).optional(),
  id: name.optional().describe("a name for the rule, shown wherever it took part"),
  reason: name.optional().describe("why the rule is there, for people"),
});

export const policySchema: z.ZodType<PolicyFile> = z.strictObject({
  default: z
    .enum(["allow", "deny"])
    .optional()
    .describe("for tools no rule speaks of; destructive ones always need a rule that names them"),
  rules: z.array(rule).optional(),
  matrix: z
    .partialRecord(z.enum(autonomies), z.partialRecord(level, z.enum(verdicts)))
    .optional()
    .describe("cells that replace the default verdict for autonomy and risk"),
  max_risk_unapproved: level.optional().describe("above it a person is asked"),
  approval_required_risk: level
    .optional()
    .describe("from it on a person is asked; the other way to say max_risk_unapproved"),
  allow_unattended_critical: z.boolean().optional(),
});

/** Where a value of the section stands in its file: `postern.yaml:14`. Undefined: it cannot be said. */
export type WhereOf = (path: readonly (string | number)[]) => string | undefined;

/**
 * @param whereOf paths are inside the section; without it a rule's place is `policy.rules[0]`
 * @throws RuntimeFault `policy_invalid`
 */
export function policyOptionsFrom(file: PolicyFile, whereOf: WhereOf = () => undefined): PolicyOptions {
  const {
    default: otherwise,
    rules,
    matrix,
    max_risk_unapproved,
    approval_required_risk,
    allow_unattended_critical,
  } = file;
  const threshold = thresholdFrom(max_risk_unapproved, approval_required_risk);
  return {
    ...(otherwise !== undefined && { default: otherwise }),
    ...(rules !== undefined && {
      rules: rules.map((given, i) => ({
        ...present(given),
        where: whereOf(["rules", i]) ?? `policy.rules[${i}]`,
      })),
    }),
    ...(matrix !== undefined && { matrix }),
    ...(threshold !== undefined && { maxRiskUnapproved: threshold }),
    ...(allow_unattended_critical !== undefined && {
      allowUnattendedCritical: allow_unattended_critical,
    }),
  };
}

function thresholdFrom(most: Level | undefined, required: Level | undefined): PolicyOptions["maxRiskUnapproved"] {
  if (most !== undefined && required !== undefined) {
    throw new RuntimeFault(
      "policy_invalid",
      "`max_risk_unapproved` and `approval_required_risk` say the same in two ways; keep one.",
    );
  }
  const risk = parseRisk(required);
  return risk === undefined ? parseRisk(most) : thresholdFor(risk);
}

type Present<T> = {
  readonly [K in keyof T]: Exclude<T[K], undefined> extends object
    ? Present<Exclude<T[K], undefined>>
    : Exclude<T[K], undefined>;
};

/** Without the fields whose value is undefined, at any depth. */
function present<T extends object>(value: T): Present<T> {
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  // Only undefined fields are left out, which is what Present says.
  return Object.fromEntries(
    entries.map(([key, field]) => [key, typeof field === "object" && field !== null ? present(field) : field]),
  ) as Present<T>;
}

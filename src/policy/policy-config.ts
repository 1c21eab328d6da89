/** The `policy` section of a configuration file (snake_case) and what it becomes. Only src/config imports this: the policy itself knows no zod. */
import { z } from "zod";
import { RuntimeFault } from "../calls/fault.ts";
import { autonomies, parseRisk, risks, verdicts } from "../calls/risk.ts";
import { type CedarFile, cedarSection } from "./cedar/cedar-config.ts";
import type { PolicyOptions } from "./decide.ts";
import { type ExpectationFile, expectationSchema } from "./report/expectations-config.ts";
import type { MatrixChanges } from "./risk/matrix.ts";
import {
  type AdjustersFile,
  adjustersFrom,
  adjustersSchema,
  type PackFile,
  packFrom,
  packSchema,
} from "./risk/risk-config.ts";
import { thresholdFor } from "./risk/threshold.ts";
import {
  type RuleFile,
  ruleFrom,
  ruleSchema,
  type SandboxFile,
  sandboxFrom,
  sandboxSchema,
} from "./rules/rule-config.ts";

type Level = "safe" | "low" | "medium" | "high" | "critical";

export interface PolicyFile {
  readonly default?: "allow" | "deny" | undefined;
  readonly mode?: "observe" | "enforce" | undefined;
  readonly rules?: readonly RuleFile[] | undefined;
  readonly sandbox?: readonly SandboxFile[] | undefined;
  readonly cedar?: CedarFile | undefined;
  readonly tests?: readonly ExpectationFile[] | undefined;
  readonly matrix?: MatrixChanges | undefined;
  readonly max_risk_unapproved?: Level | undefined;
  readonly approval_required_risk?: Level | undefined;
  readonly allow_unattended_critical?: boolean | undefined;
  readonly adjusters?: AdjustersFile | false | undefined;
  readonly pack?: PackFile | undefined;
  readonly taint?: "off" | "raise" | undefined;
}

const level = z.enum(["low", ...risks]);

export const policySchema: z.ZodType<PolicyFile> = z.strictObject({
  default: z
    .enum(["allow", "deny"])
    .optional()
    .describe("for tools no rule speaks of; destructive ones always need a rule that names them"),
  mode: z
    .enum(["observe", "enforce"])
    .optional()
    .describe("observe decides and records, and enforces only what is never for sale; enforce when nothing is said"),
  rules: z.array(ruleSchema).optional(),
  sandbox: z.array(sandboxSchema).optional().describe("where paths may lie; no rule widens it"),
  cedar: cedarSection.optional().describe("a Cedar policy set beside the rules; needs @cedar-policy/cedar-wasm"),
  tests: z.array(expectationSchema).optional().describe("what the policy is expected to answer: `postern policy test`"),
  matrix: z
    .partialRecord(z.enum(autonomies), z.partialRecord(level, z.enum(verdicts)))
    .optional()
    .describe("cells that replace the default verdict for autonomy and risk"),
  max_risk_unapproved: level.optional().describe("above it a person is asked"),
  approval_required_risk: level
    .optional()
    .describe("from it on a person is asked; the other way to say max_risk_unapproved"),
  allow_unattended_critical: z.boolean().optional(),
  adjusters: adjustersSchema
    .optional()
    .describe("what raises the risk of a call; all are on when nothing is said; false: none is"),
  pack: packSchema.optional().describe("quiet hours, anti-flap, notification storm; each off when nothing is said"),
  taint: z
    .enum(["off", "raise"])
    .optional()
    .describe("raise: after a result from outside, later calls of open-world tools in the run are one level riskier"),
});

/** Where a value of the section stands in its file: `postern.yaml:14`. Undefined: it cannot be said. */
export type WhereOf = (path: readonly (string | number)[]) => string | undefined;

/**
 * @param whereOf paths are inside the section; without it a rule's place is `policy.rules[0]`
 * @throws RuntimeFault `policy_invalid`
 */
export function policyOptionsFrom(file: PolicyFile, whereOf: WhereOf = () => undefined): PolicyOptions {
  const { default: otherwise, mode, rules, sandbox, matrix, allow_unattended_critical } = file;
  const { adjusters, pack, taint } = file;
  const threshold = thresholdFrom(file.max_risk_unapproved, file.approval_required_risk);
  const placed = (list: "rules" | "sandbox", i: number): string => whereOf([list, i]) ?? `policy.${list}[${i}]`;
  return {
    ...(otherwise !== undefined && { default: otherwise }),
    ...(mode !== undefined && { mode }),
    ...(rules !== undefined && { rules: rules.map((rule, i) => ruleFrom(rule, placed("rules", i))) }),
    ...(sandbox !== undefined && { sandbox: sandbox.map((one, i) => sandboxFrom(one, placed("sandbox", i))) }),
    ...(matrix !== undefined && { matrix }),
    ...(adjusters !== undefined && { adjusters: adjustersFrom(adjusters) }),
    ...(pack !== undefined && { pack: packFrom(pack) }),
    ...(taint !== undefined && { taint }),
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

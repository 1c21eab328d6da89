import { defined, type Json, shown, toCamelCase } from "@postern/core";
import { digestOf } from "@postern/core/system";
import type { PolicyTerms } from "./layers.ts";
import type { ExtraLayer } from "./policy.ts";
import { invalid } from "./problem.ts";
import type { Expectation } from "./report/expectations.ts";
import { compileAdjusters } from "./risk/adjusters.ts";
import { matrixOf } from "./risk/matrix.ts";
import { compilePack } from "./risk/pack.ts";
import { statedThreshold } from "./risk/threshold.ts";
import type { Rule, SandboxConstraint } from "./rules/rule-schema.ts";
import { compileRules, type RuleSet, sandboxRules } from "./rules/rules.ts";
import {
  checkedOptions,
  type ExpectationFile,
  type PolicyConfigFile,
  type PolicyOptions,
  policyOpaque,
} from "./schema.ts";

/** Options that were checked and compiled. */
export interface CompiledOptions {
  readonly ruleSet: RuleSet;
  readonly defaultEffect: "allow" | "deny";
  readonly mode: "observe" | "enforce";
  readonly terms: PolicyTerms;
  /** A digest of what the options mean: defaults are filled in, places in files are left out. */
  readonly version: string;
}

/** @throws RuntimeFault `policy_invalid` with what is wrong */
export function compileOptions(options: PolicyOptions): CompiledOptions {
  if (typeof options !== "object" || options === null)
    throw invalid(`The policy is ${shown(options)}; give an object.`);
  const { also = [], ...data } = options;
  const {
    default: defaultEffect = "allow",
    mode = "enforce",
    taint = "off",
    rules = [],
    matrix = {},
    maxRiskUnapproved: most,
    approvalRequiredRisk,
    allowUnattendedCritical = false,
    runtime = [],
    sandbox = [],
    adjusters = {},
    pack = {},
  } = Object.keys(data).length === 0 ? {} : checkedOptions(data);
  const terms = {
    adjusters: compileAdjusters(adjusters, taint),
    pack: compilePack(pack),
    matrix: matrixOf(matrix, allowUnattendedCritical),
    maxRiskUnapproved: statedThreshold(
      defined({ maxRiskUnapproved: most, approvalRequiredRisk, allowUnattendedCritical }),
    ),
    allowUnattendedCritical,
    also: checkedLayers(also),
  };
  const ruleSet = compileRules({ config: rules, runtime, sandbox: sandboxRules(sandbox) });
  const version = digestOf({
    ...{ format: 3, default: defaultEffect, mode, taint, adjusters: jsonOf(adjusters), pack: jsonOf(pack) },
    ...{ rules: withoutPlaces(rules), runtime: withoutPlaces(runtime), sandbox: withoutPlaces(sandbox) },
    also: terms.also.map(({ name, version: own }) => ({ name, version: own })),
    ...{ matrix: terms.matrix, maxRiskUnapproved: terms.maxRiskUnapproved ?? null, allowUnattendedCritical },
  }).slice(0, 16); // a name for people and records, not a seal
  return { ruleSet, defaultEffect, mode, terms, version };
}

/** Layers are live objects, so no schema of data describes them. */
function checkedLayers(also: readonly ExtraLayer[]): readonly ExtraLayer[] {
  if (!Array.isArray(also)) throw invalid("`also` is not a list.");
  for (const layer of also as readonly ExtraLayer[])
    if (typeof layer?.name !== "string" || typeof layer.version !== "string" || typeof layer.weigh !== "function")
      throw invalid("A layer in `also` lacks `name`, `version` or `weigh`; `cedarLayer` makes one.");
  return [...also];
}

function jsonOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)); // the schema has checked that it is data
}

function withoutPlaces(list: readonly (Rule | SandboxConstraint)[]): Json {
  return list.map((one) => jsonOf({ ...one, where: undefined }));
}

/** The place of a value of the section in its file: `postern.yaml:14`. Returns undefined if it is not known. */
export type WhereOf = (path: readonly (string | number)[]) => string | undefined;

/**
 * @param whereOf paths are inside the section; without it a rule's place is `policy.rules[0]`
 * @throws RuntimeFault `policy_invalid`
 */
export function policyOptionsFrom(file: PolicyConfigFile, whereOf: WhereOf = () => undefined): PolicyOptions {
  const { cedar: _cedar, tests: _tests, ...rest } = file;
  const { rules, sandbox, ...options } = toCamelCase(rest, policyOpaque) as PolicyOptions; // the schema is the file form of this type
  const placed = <T>(list: "rules" | "sandbox", one: T, i: number): T & { readonly where: string } => ({
    ...one,
    where: whereOf([list, i]) ?? `policy.${list}[${i}]`,
  });
  return {
    ...options,
    ...defined({
      rules: rules?.map((rule, i) => placed("rules", rule, i)),
      sandbox: sandbox?.map((one, i) => placed("sandbox", one, i)),
    }),
  };
}

/** @param where its place in a file */
export function expectationFrom(file: ExpectationFile, where: string | undefined): Expectation {
  const { at, ...rest } = toCamelCase(file, policyOpaque);
  const now = at === undefined ? undefined : Date.parse(at);
  return { ...(rest as Expectation), ...defined({ now, where }) }; // the schema is the file form of this type
}

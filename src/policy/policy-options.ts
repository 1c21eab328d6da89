import { digestOf, type Json } from "../calls/json.ts";
import { invalid } from "./checking.ts";
import type { PolicyOptions } from "./decide.ts";
import type { Terms } from "./layers.ts";
import type { ExtraLayer } from "./policy.ts";
import { compileAdjusters } from "./risk/adjusters.ts";
import { matrixOf } from "./risk/matrix.ts";
import { compilePack } from "./risk/pack.ts";
import { checkedThreshold } from "./risk/threshold.ts";
import { compileRules, type Rule, type RuleBook } from "./rules/rules.ts";
import { type SandboxConstraint, sandboxRules } from "./rules/sandbox.ts";

/** Options that were checked and made ready. */
export interface ReadOptions {
  readonly book: RuleBook;
  readonly otherwise: "allow" | "deny";
  readonly mode: "observe" | "enforce";
  readonly terms: Omit<Terms, "permissionAt" | "hasConditions">;
  /** Over what the options mean, not how they were written: defaults filled in, places in files left out. */
  readonly version: string;
}

const optionNames: readonly string[] = [
  "rules",
  "default",
  "mode",
  "matrix",
  "maxRiskUnapproved",
  "allowUnattendedCritical",
  "runtime",
  "sandbox",
  "also",
  "adjusters",
  "pack",
  "taint",
];

/** @throws RuntimeFault `policy_invalid`, naming what is wrong */
export function readOptions(options: PolicyOptions): ReadOptions {
  const { otherwise, mode, taint } = wordsOf(options);
  const {
    rules = [],
    matrix = {},
    maxRiskUnapproved,
    allowUnattendedCritical = false,
    runtime = [],
    sandbox = [],
    also = [],
    adjusters = {},
    pack = {},
  } = options;
  const terms = {
    adjusters: compileAdjusters(adjusters, taint),
    pack: compilePack(pack),
    matrix: matrixOf(matrix, allowUnattendedCritical),
    maxRiskUnapproved:
      maxRiskUnapproved === undefined ? undefined : checkedThreshold(maxRiskUnapproved, allowUnattendedCritical),
    allowUnattendedCritical,
    also: checkedLayers(also),
  };
  const book = compileRules({ config: rules, runtime, sandbox: sandboxRules(sandbox) });
  const words = { default: otherwise, mode, taint, adjusters: plainOf(adjusters), pack: plainOf(pack) };
  return { book, otherwise, mode, terms, version: versionOf({ rules, runtime, sandbox }, words, terms) };
}

/** What has one of two values; and a name that is none is told. */
function wordsOf(
  options: PolicyOptions,
): Pick<ReadOptions, "otherwise" | "mode"> & { readonly taint: "off" | "raise" } {
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw invalid(`\`${name}\` is no option of a policy; it has ${optionNames.join(", ")}.`);
  const { default: otherwise = "allow", mode = "enforce", taint = "off" } = options;
  if (otherwise !== "allow" && otherwise !== "deny")
    throw invalid(`\`default\` is \`${String(otherwise)}\`; it is allow or deny.`);
  if (mode !== "observe" && mode !== "enforce")
    throw invalid(`\`mode\` is \`${String(mode)}\`; it is observe or enforce.`);
  if (taint !== "off" && taint !== "raise") throw invalid(`\`taint\` is \`${String(taint)}\`; it is off or raise.`);
  return { otherwise, mode, taint };
}

function checkedLayers(also: readonly ExtraLayer[]): readonly ExtraLayer[] {
  if (!Array.isArray(also)) throw invalid("`also` is not a list.");
  for (const layer of also as readonly ExtraLayer[])
    if (typeof layer?.name !== "string" || typeof layer.version !== "string" || typeof layer.weigh !== "function")
      throw invalid("A layer in `also` lacks `name`, `version` or `weigh`; `cedarLayer` makes one.");
  return [...also];
}

interface Lists {
  readonly rules: readonly Rule[];
  readonly runtime: readonly Rule[];
  readonly sandbox: readonly SandboxConstraint[];
}

function versionOf(
  { rules, runtime, sandbox }: Lists,
  words: Readonly<Record<string, Json>>,
  { matrix, maxRiskUnapproved, allowUnattendedCritical, also }: ReadOptions["terms"],
): string {
  return digestOf({
    format: 3,
    ...words,
    rules: plain(rules),
    runtime: plain(runtime),
    sandbox: plain(sandbox),
    also: also.map(({ name, version }) => ({ name, version })),
    matrix,
    maxRiskUnapproved: maxRiskUnapproved ?? null,
    allowUnattendedCritical,
  }).slice(0, 16); // a name for people and records, not a seal
}

function plainOf(options: object | false): Json {
  return JSON.parse(JSON.stringify(options)); // numbers and texts: they were checked
}

/** Without their places in files, and without what is undefined. */
function plain(list: readonly (Rule | SandboxConstraint)[]): Json {
  return list.map((one): Json => JSON.parse(JSON.stringify({ ...one, where: undefined })));
}

/** The zod schema of rules, conditions and sandbox constraints, in the snake_case of files. */
import type { z } from "zod";
import type { Risk } from "../../core/call.ts";
import type { SnakeCased } from "../../core/case.ts";
import { risks } from "../../core/risk.ts";
import type { Zod } from "../../core/zod.ts";
import type { Condition, Conditions } from "./condition.ts";
import type { HistoryLimit, PastSelector } from "./history-limit.ts";
import type { Rule } from "./rules.ts";
import type { SandboxConstraint } from "./sandbox.ts";

/** Values that a condition names are data. */
export type RuleFileOf<T> = SnakeCased<T, "equals" | "one_of">;

export interface RuleSchemas {
  readonly rule: z.ZodType<RuleFileOf<Omit<Rule, "where">>>;
  readonly sandbox: z.ZodType<RuleFileOf<Omit<SandboxConstraint, "where">>>;
  /** In code a rule may name its place in a file. */
  readonly ruleInCode: z.ZodType<RuleFileOf<Rule>>;
  readonly sandboxInCode: z.ZodType<RuleFileOf<SandboxConstraint>>;
  readonly conditions: z.ZodType<RuleFileOf<Conditions>>;
}

export function ruleSchemas(zod: Zod): RuleSchemas {
  const [name, path, condition, limit] = [nameIn(zod), pathIn(zod), conditionSchema(zod), limitSchema(zod)];
  const toolEffects = zod.enum(["read", "write", "destructive"]);
  const effects = zod.union([toolEffects, zod.array(toolEffects)]);
  const optional = zod.boolean().exactOptional().describe("true: no warning if it matches no tool");
  const conditions = zod.record(path, condition);
  const rule = zod.strictObject({
    effect: zod
      .enum(["allow", "confirm", "deny"])
      .describe("deny wins; confirm asks a person; allow permits what the default refuses"),
    tool: name.exactOptional().describe("name of the tool; * stands for anything"),
    action: name.exactOptional(),
    server: name.exactOptional().describe("the upstream server the tool comes from"),
    risk: levelIn(zod).exactOptional().describe("of the call: deny and confirm from it on, allow up to it"),
    scope: name.exactOptional().describe("one of the scopes the tool needs"),
    effects: effects.exactOptional(),
    principal: zod
      .strictObject({ tenant: name.exactOptional(), agent: name.exactOptional(), user: name.exactOptional() })
      .exactOptional(),
    arguments: conditions.exactOptional().describe("conditions by path into the arguments; all must hold"),
    target: condition.exactOptional().describe("what the tool says the call acts on, such as https://example.com"),
    history: zod
      .union([limit, zod.array(limit)])
      .exactOptional()
      .describe(
        "what must hold for earlier calls: allow applies while it holds, deny and confirm as soon as it does not",
      ),
    id: name.exactOptional().describe("a name for the rule, shown wherever it took part"),
    reason: name.exactOptional().describe("why the rule is there, for people"),
    optional,
  });
  const sandbox = zod.strictObject({
    tool: name.exactOptional(),
    server: name.exactOptional(),
    effects: effects.exactOptional().describe("constrain only tools that do this"),
    argument: path,
    within: zod.array(name).describe("path patterns; outside all of them is denied"),
    relative_to: name.exactOptional(),
    optional,
  });
  const where = zod.string().exactOptional();
  return { rule, sandbox, conditions, ruleInCode: rule.extend({ where }), sandboxInCode: sandbox.extend({ where }) };
}

export function nameIn(zod: Zod): z.ZodString {
  return zod
    .string()
    .min(1)
    .refine((text) => text.isWellFormed(), "It holds half of a surrogate pair; write whole characters.");
}

/** `low` is an alias of `safe` (C3). */
export function levelIn(zod: Zod): z.ZodType<Risk> {
  const level = zod.enum(["low", ...risks]).overwrite((risk) => (risk === "low" ? "safe" : risk));
  return level as unknown as z.ZodType<Risk>; // none is `low` after that
}

function pathIn(zod: Zod): z.ZodString {
  return zod.string().regex(/^\$[.[]/, 'Write `$.name`, `$.list[0]`, `$.list[*].name` or `$["odd name"]`.');
}

function conditionSchema(zod: Zod): z.ZodType<RuleFileOf<Condition>> {
  const name = nameIn(zod);
  const value = zod.unknown().describe("any JSON value; lists and objects as a whole");
  const texts = zod.union([name, zod.array(name)]);
  const plain = {
    equals: value.exactOptional(),
    one_of: zod.array(value).exactOptional(),
    like: texts.exactOptional().describe("text; * stands for anything; not for paths and URLs"),
    ignore_case: zod.boolean().exactOptional().describe("beside like"),
    path: texts.exactOptional().describe("a canonical POSIX path; * inside one component, ** across them"),
    relative_to: name.exactOptional().describe("beside path: where the tool takes relative paths to begin"),
    host: texts.exactOptional().describe("host of an absolute URL: example.com, or *.example.com for all beneath it"),
    above: zod.number().exactOptional(),
    at_least: zod.number().exactOptional(),
    below: zod.number().exactOptional(),
    at_most: zod.number().exactOptional(),
    length: zod
      .strictObject({ at_least: zod.number().exactOptional(), at_most: zod.number().exactOptional() })
      .exactOptional()
      .describe("of a list or a text"),
    present: zod.boolean().exactOptional(),
  };
  const condition = zod.strictObject({ ...plain, not: zod.strictObject(plain).exactOptional() });
  return condition as unknown as z.ZodType<RuleFileOf<Condition>>; // `equals` is checked to be JSON where it is compiled
}

function limitSchema(zod: Zod): z.ZodType<RuleFileOf<HistoryLimit>> {
  const [name, path] = [nameIn(zod), pathIn(zod)];
  const state = zod.enum(["attempted", "ok", "failed", "unknown"]);
  const states = zod.array(state).refine((list) => list.length > 0, "It is empty; name a state, or leave it out.");
  const paths = zod.union([path, zod.record(path, path)]);
  const past = {
    tool: name.exactOptional(),
    action: name.exactOptional(),
    state: zod.union([state, states]).exactOptional(),
    same: paths.exactOptional().describe("equal in this call and in the earlier one"),
    same_path: paths.exactOptional().describe("file paths that lead to the same place: `./a` is `a`"),
  };
  const other: z.ZodType<RuleFileOf<PastSelector>> = zod.strictObject(past);
  return zod.strictObject({
    ...past,
    within: zod.enum(["run", "principal", "tenant"]),
    window_seconds: zod.number().positive().exactOptional(),
    at_most: zod.int().min(0).exactOptional().describe("calls, this one included"),
    sum: zod
      .strictObject({ path, at_most: zod.number().min(0) })
      .exactOptional()
      .describe("of the numbers at a path, this call's included"),
    requires: other.exactOptional().describe("a call that must have been ok before"),
    forbids: other.exactOptional().describe("a call that must not have been begun before"),
  });
}

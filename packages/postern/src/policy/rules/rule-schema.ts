/** The zod schemas of rules, conditions and sandbox constraints in snake_case, and the types that follow from them. */

import { type CamelCased, type Json, type Risk, risks } from "@postern/core";
import type { z } from "zod";
import type { Zod } from "../../checks/zod.ts";

type RuleSchemas = ReturnType<typeof ruleSchemas>;
/** What a schema means in TypeScript. The values that a condition names are data. */
export type InCode<Schema extends z.ZodType> = CamelCased<z.output<Schema>, "equals" | "one_of">;

/**
 * One line of permission. Names may hold `*`. A field that is left out matches everything; a field that is given needs a
 * value: `server: "*"` does not match a tool of our own process, `user: "*"` does not match a call without a user.
 */
export type Rule = InCode<RuleSchemas["ruleInCode"]>;
/** All fields must hold. Text is compared case by case; a value of another kind than the field asks for cannot be judged. */
export type Condition = InCode<RuleSchemas["condition"]>;
export type PlainCondition = Omit<Condition, "not">;
/** By path into the arguments. */
export type Conditions = Readonly<Record<string, Condition>>;
/** Which earlier calls a limit means. */
export type PastSelector = InCode<RuleSchemas["selector"]>;
export type HistoryLimit = InCode<RuleSchemas["limit"]>;
/**
 * Where a tool's path may lie, whatever the configuration allows. The file tools enforce the same on the file system; this
 * constraint refuses a call before a person is asked.
 */
export type SandboxConstraint = InCode<RuleSchemas["sandboxInCode"]>;

export function ruleSchemas(zod: Zod) {
  const [name, path, condition] = [nameIn(zod), pathIn(zod), conditionSchema(zod)];
  const { selector, limit } = historySchemas(zod);
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
    effects: effectsIn(zod).exactOptional(),
    principal: zod
      .strictObject({
        ...{ tenant: name.exactOptional(), agent: name.exactOptional(), user: name.exactOptional() },
        group: name.exactOptional().describe("one of the groups of the user"),
      })
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
    optional: optionalIn(zod),
  });
  const sandbox = sandboxSchema(zod);
  /** In code, a rule may name its place in a file. */
  const where = zod.string().exactOptional();
  const [ruleInCode, sandboxInCode] = [rule.extend({ where }), sandbox.extend({ where })];
  return { rule, sandbox, condition, conditions, selector, limit, ruleInCode, sandboxInCode };
}

function sandboxSchema(zod: Zod) {
  const name = nameIn(zod);
  return zod.strictObject({
    tool: name.exactOptional(),
    server: name.exactOptional(),
    effects: effectsIn(zod).exactOptional().describe("constrain only tools that do this"),
    argument: pathIn(zod),
    within: zod.array(name).describe("path patterns; outside all of them is denied"),
    relative_to: name.exactOptional(),
    optional: optionalIn(zod),
  });
}

function effectsIn(zod: Zod) {
  const effect = zod.enum(["read", "write", "destructive"]);
  return zod.union([effect, zod.array(effect)]);
}

function optionalIn(zod: Zod) {
  return zod.boolean().exactOptional().describe("true: no warning if it matches no tool");
}

export function nameIn(zod: Zod): z.ZodString {
  return zod
    .string()
    .min(1)
    .refine((text) => text.isWellFormed(), "It holds half of a surrogate pair; write whole characters.");
}

export function levelIn(zod: Zod): z.ZodType<Risk> {
  return zod.enum(risks);
}

function pathIn(zod: Zod): z.ZodString {
  return zod.string().regex(/^\$[.[]/, 'Write `$.name`, `$.list[0]`, `$.list[*].name` or `$["odd name"]`.');
}

function conditionSchema(zod: Zod) {
  const name = nameIn(zod);
  // `checkedValue` refuses what is not JSON when it compiles the condition.
  const value = zod.unknown().describe("any JSON value; lists and objects as a whole") as unknown as z.ZodType<Json>;
  const texts = zod.union([name, zod.array(name)]);
  const plain = {
    equals: value.exactOptional(),
    one_of: (zod.array(value) as z.ZodType<readonly Json[]>).exactOptional(),
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
  return zod.strictObject({ ...plain, not: zod.strictObject(plain).exactOptional() });
}

function historySchemas(zod: Zod) {
  const [name, path] = [nameIn(zod), pathIn(zod)];
  const state = zod.enum(["attempted", "ok", "failed", "unknown"]);
  const states = zod.array(state).refine((list) => list.length > 0, "It is empty; name a state, or leave it out.");
  const paths = zod.union([path, zod.record(path, path)]);
  const selector = zod.strictObject({
    tool: name.exactOptional(),
    action: name.exactOptional(),
    state: zod.union([state, states]).exactOptional(),
    same: paths.exactOptional().describe("equal in this call and in the earlier one"),
    same_path: paths.exactOptional().describe("file paths that lead to the same place: `./a` is `a`"),
  });
  const limit = selector.extend({
    within: zod.enum(["run", "principal", "tenant"]),
    window_seconds: zod.number().positive().exactOptional(),
    at_most: zod.int().min(0).exactOptional().describe("calls, this one included"),
    sum: zod
      .strictObject({ path, at_most: zod.number().min(0) })
      .exactOptional()
      .describe("of the numbers at a path, this call's included"),
    requires: selector.exactOptional().describe("a call that must have been ok before"),
    forbids: selector.exactOptional().describe("a call that must not have been begun before"),
  });
  return { selector, limit };
}

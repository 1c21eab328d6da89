/** One rule of a configuration file (snake_case) and what it becomes. */
import { z } from "zod";
import type { Risk } from "../../calls/call.ts";
import { risks } from "../../calls/risk.ts";
import type { HistoryScope } from "../policy.ts";
import { inTypeScript } from "./condition-spelling.ts";
import type { PastState } from "./history-limit.ts";
import type { Effect, Rule } from "./rules.ts";
import type { SandboxConstraint } from "./sandbox.ts";

type Texts = string | readonly string[] | undefined;
type ToolEffects = "read" | "write" | "destructive";

interface PlainConditionFile {
  readonly equals?: unknown;
  readonly one_of?: readonly unknown[] | undefined;
  readonly like?: Texts;
  readonly ignore_case?: boolean | undefined;
  readonly path?: Texts;
  readonly relative_to?: string | undefined;
  readonly host?: Texts;
  readonly above?: number | undefined;
  readonly at_least?: number | undefined;
  readonly below?: number | undefined;
  readonly at_most?: number | undefined;
  readonly length?: { readonly at_least?: number | undefined; readonly at_most?: number | undefined } | undefined;
  readonly present?: boolean | undefined;
}

interface ConditionFile extends PlainConditionFile {
  readonly not?: PlainConditionFile | undefined;
}

interface PastFile {
  readonly tool?: string | undefined;
  readonly action?: string | undefined;
  readonly state?: PastState | readonly PastState[] | undefined;
  readonly same?: string | Readonly<Record<string, string>> | undefined;
  readonly same_path?: string | Readonly<Record<string, string>> | undefined;
}

interface LimitFile extends PastFile {
  readonly within: HistoryScope;
  readonly window_seconds?: number | undefined;
  readonly at_most?: number | undefined;
  readonly sum?: { readonly path: string; readonly at_most: number } | undefined;
  readonly requires?: PastFile | undefined;
  readonly forbids?: PastFile | undefined;
}

export interface RuleFile {
  readonly effect: Effect;
  readonly tool?: string | undefined;
  readonly action?: string | undefined;
  readonly server?: string | undefined;
  readonly risk?: Risk | "low" | undefined;
  readonly scope?: string | undefined;
  readonly effects?: ToolEffects | readonly ToolEffects[] | undefined;
  readonly principal?:
    | {
        readonly tenant?: string | undefined;
        readonly agent?: string | undefined;
        readonly user?: string | undefined;
      }
    | undefined;
  readonly arguments?: Readonly<Record<string, ConditionFile>> | undefined;
  readonly target?: ConditionFile | undefined;
  readonly history?: LimitFile | readonly LimitFile[] | undefined;
  readonly id?: string | undefined;
  readonly reason?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface SandboxFile {
  readonly tool?: string | undefined;
  readonly server?: string | undefined;
  readonly effects?: ToolEffects | readonly ToolEffects[] | undefined;
  readonly argument: string;
  readonly within: readonly string[];
  readonly relative_to?: string | undefined;
  readonly optional?: boolean | undefined;
}

const name = z.string().min(1);
const value = z.unknown().describe("any JSON value; lists and objects as a whole"); // judged where it is compiled
const texts = z.union([name, z.array(name)]);
const path = z.string().regex(/^\$[.[]/, 'Write `$.name`, `$.list[0]`, `$.list[*].name` or `$["odd name"]`.');
const toolEffects = z.enum(["read", "write", "destructive"]);
const someEffects = z.union([toolEffects, z.array(toolEffects)]);

const optional = z.boolean().optional().describe("true: no warning if it matches no tool");

const plainCondition = {
  equals: value.optional(),
  one_of: z.array(value).optional(),
  like: texts.optional().describe("text; * stands for anything; not for paths and URLs"),
  ignore_case: z.boolean().optional().describe("beside like"),
  path: texts.optional().describe("a canonical POSIX path; * inside one component, ** across them"),
  relative_to: name.optional().describe("beside path: where the tool takes relative paths to begin"),
  host: texts.optional().describe("host of an absolute URL: example.com, or *.example.com for all beneath it"),
  above: z.number().optional(),
  at_least: z.number().optional(),
  below: z.number().optional(),
  at_most: z.number().optional(),
  length: z
    .strictObject({ at_least: z.number().optional(), at_most: z.number().optional() })
    .optional()
    .describe("of a list or a text"),
  present: z.boolean().optional(),
};
const condition = z.strictObject({ ...plainCondition, not: z.strictObject(plainCondition).optional() });

const state = z.enum(["attempted", "ok", "failed", "unknown"]);
const past = {
  tool: name.optional(),
  action: name.optional(),
  state: z.union([state, z.array(state)]).optional(),
  same: z
    .union([path, z.record(path, path)])
    .optional()
    .describe("equal in this call and in the earlier one"),
  same_path: z
    .union([path, z.record(path, path)])
    .optional()
    .describe("file paths that lead to the same place: `./a` is `a`"),
};
const limit = z.strictObject({
  ...past,
  within: z.enum(["run", "principal", "tenant"]),
  window_seconds: z.number().positive().optional(),
  at_most: z.int().min(0).optional().describe("calls, this one included"),
  sum: z
    .strictObject({ path, at_most: z.number().min(0) })
    .optional()
    .describe("of the numbers at a path, this call's included"),
  requires: z.strictObject(past).optional().describe("a call that must have been ok before"),
  forbids: z.strictObject(past).optional().describe("a call that must not have been begun before"),
});

export const ruleSchema: z.ZodType<RuleFile> = z.strictObject({
  effect: z
    .enum(["allow", "confirm", "deny"])
    .describe("deny wins; confirm asks a person; allow permits what the default refuses"),
  tool: name.optional().describe("name of the tool; * stands for anything"),
  action: name.optional(),
  server: name.optional().describe("the upstream server the tool comes from"),
  risk: z
    .enum(["low", ...risks])
    .optional()
    .describe("of the call: deny and confirm from it on, allow up to it"),
  scope: name.optional().describe("one of the scopes the tool needs"),
  effects: someEffects.optional(),
  principal: z.strictObject({ tenant: name.optional(), agent: name.optional(), user: name.optional() }).optional(),
  arguments: z.record(path, condition).optional().describe("conditions by path into the arguments; all must hold"),
  target: condition.optional().describe("what the tool says the call acts on, such as https://example.com"),
  history: z
    .union([limit, z.array(limit)])
    .optional()
    .describe(
      "what must hold for earlier calls: allow applies while it holds, deny and confirm as soon as it does not",
    ),
  id: name.optional().describe("a name for the rule, shown wherever it took part"),
  reason: name.optional().describe("why the rule is there, for people"),
  optional,
});

export const sandboxSchema: z.ZodType<SandboxFile> = z.strictObject({
  tool: name.optional(),
  server: name.optional(),
  effects: someEffects.optional().describe("constrain only tools that do this"),
  argument: path,
  within: z.array(name).describe("path patterns; outside all of them is denied"),
  relative_to: name.optional(),
  optional,
});

export function ruleFrom(file: RuleFile, where: string): Rule {
  return { ...(inTypeScript(file) as Rule), where }; // the file form of that type, key by key
}

export function sandboxFrom(file: SandboxFile, where: string): SandboxConstraint {
  return { ...(inTypeScript(file) as SandboxConstraint), where }; // the file form of that type, key by key
}

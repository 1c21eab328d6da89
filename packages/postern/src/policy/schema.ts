/**
 * The zod schema of a policy, in the snake_case of files. `createPolicy` checks options in TypeScript with the same one.
 *
 * It checks names, types and ranges. What needs more (a path, a host, a time zone) is checked where it is compiled.
 */

import {
  autonomies,
  isJsonObject,
  type JsonObject,
  messageOf,
  type OpaqueFields,
  opaqueFields,
  risks,
  toCamelCase,
  toSnakeCase,
  verdicts,
} from "@postern/core";
import type { z } from "zod";
import { problemLines } from "../checks/schema-problems.ts";
import { lazySchema, type Zod } from "../checks/zod.ts";
import { type CedarKind, cedarKinds } from "./cedar/cedar-kinds.ts";
import type { ExtraLayer } from "./policy.ts";
import { invalid } from "./problem.ts";
import { type Conditions, type InCode, levelIn, nameIn, ruleSchemas } from "./rules/rule-schema.ts";

/** Fields of a policy whose keys are data. Paths into arguments begin with `$`, and so they are never converted. */
export const policyOpaque: OpaqueFields<"equals" | "one_of"> = opaqueFields([
  ...(["equals", "one_of"] as const),
  ...(["call.arguments", "history.arguments", "cedar.arguments.*"] as never[]), // types know no paths
]);

type Schemas = ReturnType<typeof policySchemas>;
/** The `policy` section of a file, and of a configuration in TypeScript. */
export type PolicyConfigFile = z.output<Schemas["section"]>;
export type ExpectationFile = z.output<Schemas["expectation"]>;
/** What `createPolicy` takes. */
export type PolicyOptions = InCode<Schemas["options"]> & {
  /** Layers that may add denials and questions. */
  readonly also?: readonly ExtraLayer[];
};
export type MatrixChanges = NonNullable<PolicyOptions["matrix"]>;
export type AdjusterOptions = Exclude<PolicyOptions["adjusters"], false | undefined>;
export type PackOptions = NonNullable<PolicyOptions["pack"]>;
export type QuietHours = NonNullable<PackOptions["quietHours"]>;
/** By the name that policies use. */
export type CedarArguments = InCode<Schemas["cedarArguments"]>;
export type CedarArgument = CedarArguments[string];
export type CedarSection = Readonly<NonNullable<PolicyConfigFile["cedar"]>>;

export const policySchemas = lazySchema((zod) => {
  const { rule, sandbox, conditions, ruleInCode, sandboxInCode } = ruleSchemas(zod);
  const [expectation, cedarArguments] = [expectationSchema(zod), cedarArgumentsSchema(zod)];
  const section = zod.strictObject({
    ...riskFields(zod),
    default: zod
      .enum(["allow", "deny"])
      .exactOptional()
      .describe("for tools no rule speaks of; destructive ones always need a rule that names them"),
    mode: zod
      .enum(["observe", "enforce"])
      .exactOptional()
      .describe("observe decides and records, and enforces only what always holds; enforce by default"),
    rules: zod.array(rule).exactOptional(),
    sandbox: zod.array(sandbox).exactOptional().describe("where paths may lie; no rule widens it"),
    cedar: cedarSchema(zod, cedarArguments)
      .exactOptional()
      .describe("a Cedar policy set beside the rules; needs @cedar-policy/cedar-wasm"),
    tests: zod
      .array(expectation)
      .exactOptional()
      .describe("what the policy is expected to answer: `postern policy test`"),
  });
  const rules = zod.array(ruleInCode).exactOptional();
  const options = section
    .omit({ cedar: true, tests: true })
    .extend({ rules, runtime: rules, sandbox: zod.array(sandboxInCode).exactOptional() });
  return { section, options, conditions, expectation, cedarArguments };
});

/** @throws RuntimeFault `policy_invalid` with every mistake, a line each */
export function checkedOptions(options: Omit<PolicyOptions, "also">): Omit<PolicyOptions, "also"> {
  return checked(policySchemas().options, options);
}

/**
 * @param at names them in messages
 * @throws RuntimeFault `policy_invalid` with every mistake, a line each
 */
export function checkedConditions(conditions: unknown, at: string): Conditions {
  return checked(policySchemas().conditions, conditions, at);
}

/** @param at names the value in messages */
export function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, at = ""): InCode<Schema> {
  let written: unknown;
  try {
    written = toSnakeCase(value, policyOpaque);
  } catch (error) {
    throw invalid(`The policy cannot be read: ${messageOf(error)}.`); // a cycle, or a field in both cases
  }
  const parsed = schema.safeParse(written);
  if (parsed.success) return toCamelCase(parsed.data, policyOpaque) as InCode<Schema>; // paths into `arguments` keep their names
  const lines = problemLines(parsed.error, { value: written, schema }, (key) =>
    at === "" || key === "" || key.startsWith("[") ? `\`${at}${key}\`` : `\`${at}.${key}\``,
  );
  throw invalid(lines);
}

function riskFields(zod: Zod) {
  const level = levelIn(zod);
  return {
    matrix: zod
      .partialRecord(zod.enum(autonomies), zod.partialRecord(zod.enum(risks), zod.enum(verdicts)))
      .exactOptional()
      .describe("cells that replace the default verdict for autonomy and risk"),
    max_risk_unapproved: level.exactOptional().describe("above it a person is asked"),
    approval_required_risk: level
      .exactOptional()
      .describe("from it on a person is asked; the other way to say max_risk_unapproved"),
    allow_unattended_critical: zod.boolean().exactOptional(),
    adjusters: adjustersSchema(zod)
      .exactOptional()
      .describe("what raises the risk of a call; all are on by default; false: none is"),
    pack: packSchema(zod).exactOptional().describe("quiet hours, anti-flap, notification storm; each off by default"),
    taint: zod
      .enum(["off", "raise"])
      .exactOptional()
      .describe("raise: after a result from outside, later calls of open-world tools in the run are one level riskier"),
  };
}

function expectationSchema(zod: Zod) {
  const name = nameIn(zod);
  const args: z.ZodType<JsonObject> = zod
    .record(zod.string(), zod.unknown()) // `zod.json()` would refer to itself in the published schema
    .refine(
      isJsonObject,
      "Write plain values: text, numbers, true, false, lists and mappings.",
    ) as z.ZodType<JsonObject>;
  const call = { tool: name, action: name.exactOptional(), arguments: args.exactOptional() };
  const past = zod.strictObject({
    ...call,
    state: zod.enum(["attempted", "ok", "failed", "unknown"]).exactOptional().describe("ok by default"),
    seconds_ago: zod.number().min(0).exactOptional().describe("before the call; 0 by default"),
  });
  return zod.strictObject({
    name: name.describe("shown with the result"),
    call: zod.strictObject(call),
    principal: zod
      .strictObject({
        ...{ tenant: name.exactOptional(), agent: name.exactOptional(), user: name.exactOptional() },
        groups: zod.array(name).exactOptional(),
      })
      .exactOptional()
      .describe("tenant default and agent local-agent by default"),
    scopes: zod.array(name).exactOptional().describe("all that the tool needs by default"),
    autonomy: zod.enum(autonomies).exactOptional().describe("the configured one by default"),
    at: zod.iso.datetime({ offset: true }).exactOptional().describe("when; noon of a Monday, UTC, by default"),
    history: zod.array(past).exactOptional().describe("what was done before, by the same principal in the same run"),
    expect: zod.enum(["ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"]),
    rule: name.exactOptional().describe("words that the name of a rule which took part must hold, its id for example"),
  });
}

function cedarArgumentsSchema(zod: Zod) {
  const argument = zod.strictObject({
    path: zod.string(),
    kind: zod.enum(Object.keys(cedarKinds) as readonly CedarKind[]),
    otherwise: zod.enum(["deny", "tell"]).exactOptional(),
  });
  return zod.record(zod.string(), argument);
}

function cedarSchema(zod: Zod, args: ReturnType<typeof cedarArgumentsSchema>) {
  const file = zod.string().min(1);
  return zod.strictObject({
    policies: file.describe("file of Cedar policies, relative to this one; they may only add denials and questions"),
    schema: file.exactOptional().describe("file of a Cedar schema; left out: the one that describes what crosses"),
    arguments: args
      .exactOptional()
      .describe("arguments that policies may look at, by the name they use: context.args.NAME"),
  });
}

function adjustersSchema(zod: Zod) {
  const texts = zod.array(zod.string().min(1));
  const count = zod.int().min(0);
  const orOff = <T extends z.ZodType>(options: T, what: string) =>
    zod
      .union([zod.literal(false), options])
      .exactOptional()
      .describe(`${what}; false: off`);
  const adjusters = zod.strictObject({
    broadcast: orOff(
      zod.strictObject({
        more_than: count.exactOptional().describe("recipients; 10 by default"),
        groups: texts.exactOptional().describe("names and addresses that are groups of yours; * stands for anything"),
        arguments: texts
          .exactOptional()
          .describe("arguments that name recipients, for tools that do not name them themselves"),
      }),
      "many recipients, or a group",
    ),
    destructive: orOff(
      zod.strictObject({ words: texts.exactOptional() }),
      "destructive effects, or an action called delete, wipe, reset and the like",
    ),
    blast_radius: orOff(
      zod.strictObject({
        more_than: count.exactOptional().describe("things changed by one call; 100 by default"),
      }),
      "how much one call changes, as the tool says",
    ),
  });
  return zod.union([zod.literal(false), adjusters]);
}

function packSchema(zod: Zod) {
  const tools = zod.array(zod.string().min(1)).min(1);
  const within = zod.enum(["principal", "tenant"]).exactOptional().describe("whose calls count");
  const time = zod.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day in quotes: "22:00".');
  return zod.strictObject({
    quiet_hours: zod
      .strictObject({
        from: time,
        to: time.describe("the first minute after; earlier than `from`: past midnight"),
        time_zone: zod.string().min(1).describe("IANA name, Europe/Berlin for example"),
      })
      .exactOptional()
      .describe("what does more than read is raised one level, and from medium on a person is asked"),
    anti_flap: zod
      .strictObject({ cooldown_seconds: zod.number().positive(), tools: tools.exactOptional(), within })
      .exactOptional()
      .describe("the same tool, action and target again so soon is blocked"),
    notifications: zod
      .strictObject({ tools, max_per_hour: zod.int().min(0), within })
      .exactOptional()
      .describe("more calls of these tools in an hour are blocked, and one alarm is raised"),
  });
}

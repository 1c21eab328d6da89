/** The `tests` of a policy as they are written in a file (snake_case), and what they become. */
import { z } from "zod";
import type { Autonomy } from "../../calls/call.ts";
import { given } from "../../calls/given.ts";
import { isJsonObject, type JsonObject } from "../../calls/json.ts";
import { autonomies } from "../../calls/risk.ts";
import type { PastCall } from "../policy.ts";
import type { Expectation, ExpectedPast } from "./expectations.ts";

interface PastFile {
  readonly tool: string;
  readonly action?: string | undefined;
  readonly arguments?: JsonObject | undefined;
  readonly state?: PastCall["state"] | undefined;
  readonly seconds_ago?: number | undefined;
}

export interface ExpectationFile {
  readonly name: string;
  readonly call: {
    readonly tool: string;
    readonly action?: string | undefined;
    readonly arguments?: JsonObject | undefined;
  };
  readonly principal?:
    | { readonly tenant?: string | undefined; readonly agent?: string | undefined; readonly user?: string | undefined }
    | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly autonomy?: Autonomy | undefined;
  readonly at?: string | undefined;
  readonly history?: readonly PastFile[] | undefined;
  readonly expect: Expectation["expect"];
  readonly rule?: string | undefined;
}

const name = z.string().min(1);
/** `z.json()` would refer to itself in the published schema. */
const args: z.ZodType<JsonObject | undefined> = z
  .record(z.string(), z.unknown())
  .refine(isJsonObject, "Write plain values: text, numbers, true, false, lists and mappings.")
  .optional() as z.ZodType<JsonObject | undefined>; // it was refined to be one

const past: z.ZodType<PastFile> = z.strictObject({
  tool: name,
  action: name.optional(),
  arguments: args,
  state: z.enum(["attempted", "ok", "failed", "unknown"]).optional().describe("ok when nothing is said"),
  seconds_ago: z.number().min(0).optional().describe("before the call; 0 when nothing is said"),
});

export const expectationSchema: z.ZodType<ExpectationFile> = z.strictObject({
  name: name.describe("shown with the result"),
  call: z.strictObject({ tool: name, action: name.optional(), arguments: args }),
  principal: z
    .strictObject({ tenant: name.optional(), agent: name.optional(), user: name.optional() })
    .optional()
    .describe("tenant default and agent local-agent where nothing is said"),
  scopes: z.array(name).optional().describe("all that the tool needs when nothing is said"),
  autonomy: z.enum(autonomies).optional().describe("the configured one when nothing is said"),
  at: z.iso.datetime({ offset: true }).optional().describe("when; noon of a Monday, UTC, when nothing is said"),
  history: z.array(past).optional().describe("what was done before, by the same principal in the same run"),
  expect: z.enum(["ALLOW", "CONFIRM", "PREVIEW", "BLOCK", "DENY"]),
  rule: name.optional().describe("words that the name of a rule which took part must hold, its id for example"),
});

/** @param where its place in a file */
export function expectationFrom(file: ExpectationFile, where: string | undefined): Expectation {
  const { name: called, call, principal, scopes, autonomy, at, history, expect, rule } = file;
  return given({
    ...{ name: called, call: given(call), expect, scopes, autonomy, rule, where },
    principal: principal && given(principal),
    now: at === undefined ? undefined : Date.parse(at),
    history: history?.map(pastFrom),
  });
}

function pastFrom({ seconds_ago: secondsAgo, ...rest }: PastFile): ExpectedPast {
  return given({ ...rest, secondsAgo });
}

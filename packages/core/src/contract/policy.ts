import { z } from "zod";
import { verdicts } from "../risk.ts";
import {
  autonomy,
  component,
  decisionReason,
  digest,
  effects,
  flag,
  jsonObject,
  name,
  oneAction,
  optional,
  principal,
  reason,
  recordedReason,
  requestedCall,
  risk,
  riskSource,
  runId,
  search,
  text,
  texts,
  when,
  whole,
} from "./fields.ts";
import { refusal } from "./outcome.ts";
import { route, type View } from "./route.ts";

const verdict = z.enum([...verdicts, "DENY"]).meta({ id: "Verdict" });
export type VerdictView = View<typeof verdict>;

export const decision = component("Decision", {
  verdict,
  risk,
  reasons: z.array(decisionReason),
  policy_version: text,
  missing_scope: text.optional(),
  observed: verdict.optional().describe("In mode `observe`: the verdict that would be enforced."),
  grant_id: text.optional().describe("The grant that answers for a person."),
});
export type DecisionView = View<typeof decision>;
export type ReasonView = DecisionView["reasons"][number];

const recorded = z.object({
  edited: z.object({ asked_digest: text, digest: text }).optional(),
  weighed: z
    .object({
      at: when,
      verdict: text,
      risk: text,
      reasons: z.array(z.object(recordedReason)),
      policy_version: text,
      grant_id: text.optional(),
    })
    .optional()
    .describe("The decision when the call began or was asked about."),
});

/** What would be decided about a call; or why it does not get that far, with the decision if there was one. */
export const explanation = z
  .discriminatedUnion("reached", [
    z.object({
      reached: z.literal("verdict"),
      decision,
      facts: z.object({
        ...oneAction,
        server: text.optional(),
        risk,
        risk_source: riskSource,
        effects,
        scopes: texts,
        permissions: texts,
      }),
      ...optional({ summary: text, recorded }),
    }),
    z.object({ reached: z.literal("refused"), refusal, ...optional({ decision, recorded }) }),
  ])
  .meta({ id: "Explanation" });
export type ExplanationView = View<typeof explanation>;

const warning = component("PolicyWarning", {
  code: z.enum(["matches_no_tool", "never_holds", "contradiction", "duplicate", "no_effect", "observing"]),
  rule: text.optional(),
  message: text,
  where: text.optional(),
});
export type PolicyWarningView = View<typeof warning>;
const warnings = z.array(warning);

const effectiveLine = z.object({
  ...oneAction,
  server: text.optional(),
  risk,
  verdict,
  by: decisionReason.describe("The rule that decides."),
  depends: z.array(decisionReason).describe("Rules that may change the verdict of one call."),
  requested_by: texts.describe("The skills that ask for it."),
});
export type EffectiveLineView = View<typeof effectiveLine>;

const effectivePolicy = component("EffectivePolicy", {
  policy_version: text,
  lines: z.array(effectiveLine).nullable().describe("Null: this policy cannot list them."),
  unknown_requests: z.array(z.object({ skill: text, tool: text })),
  warnings,
});
export type EffectivePolicyView = View<typeof effectivePolicy>;

const verdictChange = z.object({
  call_id: text,
  ...oneAction,
  requested_by: principal,
  run_id: text,
  at: when,
  arguments: jsonObject,
  edited: z.literal(true).optional().describe("A person had changed the arguments: these ran."),
  before: decision,
  after: decision,
  approval_id: text.optional().describe("Of a request that waits."),
});
export type VerdictChangeView = View<typeof verdictChange>;

const verdictGroup = z.object({
  ...oneAction,
  before: verdict,
  after: verdict,
  count: whole,
  example: verdictChange.describe("The newest of them."),
});
export type VerdictGroupView = View<typeof verdictGroup>;
const groups = z.array(verdictGroup);

const simulation = component("Simulation", {
  before_version: text,
  after_version: text,
  replayed: whole,
  unknown_tools: z.record(text, whole),
  past_is_cut: flag,
  changes: z.array(verdictChange),
  groups: groups.describe("`changes` by action and verdicts, the largest group first; at most 100."),
  waiting: z
    .object({ requests: whole, is_cut: flag, groups })
    .describe("The requests that wait, at most 10,000, each decided as if its call began now."),
  warnings,
});
export type SimulationView = View<typeof simulation>;

const testResult = z.object({
  name: text,
  where: text.optional(),
  passed: flag,
  expected: verdict,
  ...optional({ decision, problem: text }),
});
export type TestResult = View<typeof testResult>;
const test = component("PolicyTest", { passed: flag, results: z.array(testResult), warnings });
export type PolicyTest = View<typeof test>;

const policyText = component("PolicyDocument", {
  name: text,
  text,
  line: whole.describe("Of the file, where the text begins."),
  digest,
  editable: flag,
  why_not: text.optional(),
  differs: texts.describe("How the file differs from what is in force, a sentence a change; or its mistakes."),
});
export type PolicyTextView = View<typeof policyText>;

const activated = {
  before_version: text,
  after_version: text,
  changes: texts.describe("One sentence a change of what decides about calls; empty if nothing differs."),
  restart: texts.describe("Other sections that differ from those Postern was started with; they need a restart."),
};
const reloaded = component("PolicyReloaded", { name: text, ...activated });
export type PolicyReloadedView = View<typeof reloaded>;

const saved = component("PolicySaved", {
  name: text,
  digest,
  kept: text.optional().describe("Where the old file is."),
  in_force: z.object(activated).optional().describe("With `activate`."),
});

const namedText = z.strictObject({ name, text: z.string().max(1024 * 1024) });

/** The policy in force, and others compared with it. No route here runs a tool. */
export const policy = {
  show: route("get", "/v1/policy", "policy:read", {
    summary: "The verdict for each tool and the rule that decides, for one principal; and warnings about the policy.",
    query: search({ agent: name, user: name, run_id: runId, autonomy }),
    answer: effectivePolicy,
  }),
  explain: route("post", "/v1/policy/explain", "policy:read", {
    summary: "What would be decided about a call of any caller, and every rule that shaped it. Nothing is run.",
    body: z.strictObject({ ...requestedCall, ...optional({ agent: name, user: name }) }),
    answer: explanation,
  }),
  explainCall: route("get", "/v1/calls/{id}/explanation", "policy:read", {
    summary: "What would be decided today about a recorded call, with the authority it had. Nothing is run.",
    answer: explanation,
  }),
  simulate: route("post", "/v1/policy/simulate", "policy:read", {
    summary:
      "Decide the last recorded calls, and the requests that wait, by another policy; tells which verdicts change, and why.",
    body: z.strictObject({
      configuration: namedText,
      ...optional({ tool: name, run_id: runId, limit: z.int().min(1).max(10_000) }),
    }),
    answer: simulation,
  }),
  test: route("post", "/v1/policy/test", "policy:read", {
    summary: "Check a policy against its expectations: those beside it, and those of other tables.",
    body: z.strictObject({ configuration: namedText, tables: z.array(namedText).max(100).optional() }),
    answer: test,
  }),
  text: route("get", "/v1/policy/text", "policy:read", {
    summary:
      "The policy's text in the configuration's file, and whether it may be saved from here. For the installation's own people.",
    answer: policyText,
  }),
  save: route("post", "/v1/policy/save", "policy:write", {
    summary:
      "Write the policy into the configuration's file; the old file is kept. In force at once with `activate`, else from the next start or reload on.",
    body: z.strictObject({
      text: z.string().max(1024 * 1024),
      expected_digest: digest.describe(
        "`digest` of the text that was read: another person's change is not overwritten.",
      ),
      reason: reason.optional(),
      activate: flag.optional().describe("Put it in force at once. The whole file is checked first."),
    }),
    answer: saved,
  }),
  reload: route("post", "/v1/policy/reload", "policy:write", {
    summary:
      "Put the configuration's file in force as it is now, as far as it decides about calls: `policy`, `guardrails` and `autonomy`.",
    body: z.strictObject({ reason: reason.optional() }),
    answer: reloaded,
  }),
  activate: route("post", "/v1/policy/activate", "policy:write", {
    summary:
      "Make `policy`, `guardrails` and `autonomy` of a configuration the active ones of every gateway on a shared store.",
    body: z.strictObject({ configuration: namedText, reason: reason.optional() }),
    answer: reloaded,
  }),
};

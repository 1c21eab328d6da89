import { expect, it } from "vitest";
import { anApproval, anOutcome, aRecord } from "../../test/fakes/stub-runtime.ts";
import { refusal } from "../calls/refusals.ts";
import { offerOf } from "../tools/offer.ts";
import type { Action } from "../tools/tool.ts";
import { shownApproval } from "./http/given-approval.ts";
import { callToWire, contextFromWire, outcomeToWire } from "./wire.ts";
import { controlChangeToWire, controlsToWire, explanationToWire, toolToWire } from "./wire-tools.ts";

const at = Date.UTC(2026, 10, 20);
const outcome = anOutcome({
  content: [
    { type: "image", mediaType: "image/png", artifact: "d1", name: "a.png" },
    { type: "text", text: "done" },
  ],
  structured: { itsOwnName: { andDeeper: 1 } },
  artifact: "d2",
  files: [{ path: "/workspace/media/a_1.png", mediaType: "image/png", artifact: "d1" }],
  refusal: refusal("tool_failed", undefined, { itsOwnDetail: 1 }),
  preview: { summary: "s", diff: "d", supported: true },
  approvalId: "apr_1",
  expiresAt: at,
  replayed: true,
  timedOut: true,
});
const decision = {
  verdict: "DENY",
  risk: "high",
  reasons: [{ rule: "r", says: "DENY", where: "postern.yaml:3" }],
  policyVersion: "p",
  missingScope: "mail:write",
} as const;
const facts = {
  tool: "t",
  action: "a",
  server: "s",
  risk: "high",
  riskSource: "operator",
  effects: "write",
  scopes: [],
  permissions: [],
} as const;
const action: Action = {
  ...{
    tool: "t",
    name: "a",
    title: "T",
    description: "d",
    inputSchema: { additionalProperties: false },
    outputSchema: {},
    annotations: { readOnlyHint: true },
    icons: [{ src: "https://x.example/i.png" }],
    meta: { "x.example/tag": 1 },
    toolType: "MCP",
    kind: "local",
    facts,
  },
  ...{
    idempotent: true,
    definition: "d",
    timeoutMs: 1,
    approvalTtlMs: 2,
    suspends: false,
    detached: false,
    requireIdempotencyKey: true,
    previewBinds: false,
  },
  ...{
    deferLoading: false,
    concurrencySafe: true,
    notFromChain: undefined,
    classifyRisk: undefined,
    preview: undefined,
    reconcile: undefined,
  },
  parse: (input) => ({ input }),
  execute: () => "",
};

/** Names that are ours: what tools and callers named themselves stays as it is. */
function namesIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (typeof value !== "object" || value === null) return [];
  const theirs = [
    "structured",
    "arguments",
    "asked",
    "details",
    "input_schema",
    "output_schema",
    "annotations",
    "meta",
  ];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...(theirs.includes(name) ? [] : namesIn(inner))]);
}

it.each([
  ["an outcome", outcomeToWire(outcome, "t")],
  ["a call", callToWire({ ...aRecord(), startedAt: at, endedAt: at, outcome, approvalId: "apr_1" })],
  [
    "an approval",
    shownApproval({
      ...anApproval(),
      previewDigest: "p",
      summary: "s",
      decision: { as: "approved", by: "b", via: "v", at },
    }),
  ],
  [
    "a tool",
    toolToWire(offerOf(action), {
      health: {
        status: "degraded",
        consecutiveErrors: 3,
        lastSuccessAt: at,
        lastError: "e",
        rateLimitResetsAt: at,
      },
    }),
  ],
  [
    "an explanation",
    explanationToWire({ reached: "verdict", decision, counting: decision.reasons, facts, summary: "s" }),
  ],
  ["an explained refusal", explanationToWire({ reached: "refused", decision, refusal: refusal("scope_missing") })],
  ["the switches", controlsToWire({ paused: true, autonomy: undefined, offTools: ["a"], offServers: ["b"] })],
  [
    "a change of them",
    controlChangeToWire({ at, by: "b", via: "session:b", change: "pause", value: "v", reason: "r" }),
  ],
])("spells every name of %s in snake_case", (_, wire) => {
  expect(namesIn(wire).filter((name) => !/^[a-z]+(?:_[a-z]+)*$/.test(name))).toEqual([]);
});

it("leaves a tool's own names and values untouched", () => {
  expect(outcomeToWire(outcome, "t").structured).toBe(outcome.structured);
  const record = aRecord();
  expect(callToWire(record).arguments).toBe(record.call.arguments);
});

it("says times as ISO 8601 in UTC", () => {
  expect(outcomeToWire(outcome, "t").expires_at).toBe("2026-11-20T00:00:00.000Z");
  expect(outcomeToWire(anOutcome({ expiresAt: Number.MAX_SAFE_INTEGER }), "t").expires_at).toMatch(/^\+275760/);
});

it("says how to approve while that can be done, and not afterwards", () => {
  expect(outcomeToWire(anOutcome({ status: "pending", approvalId: "apr_1" }), "t").how_to_approve).toBe(
    "A person decides in the Postern console.",
  );
  expect(
    outcomeToWire(anOutcome({ status: "denied", approvalId: "apr_1", refusal: refusal("approval_denied") }), "t")
      .how_to_approve,
  ).toBeUndefined();
});

it("shows what was asked beside what runs, after an edit only", () => {
  expect(shownApproval(anApproval()).asked).toBeUndefined();
  const edited = { ...anApproval(), arguments: { to: "b" } };
  expect(shownApproval(edited)).toMatchObject({
    asked: { to: "a" },
    what: { arguments: { to: "b" } },
  });
});

const said = {
  run_id: "r",
  trace_id: "t",
  task_id: "k",
  step_id: "s",
  scopes: ["a"],
  autonomy: "A1",
  idempotency_key: "i",
  patience: "wait",
  approval_wait_ms: 5,
  principal: { tenant: "other", agent: "boss" },
} as const;

it("reads everything a caller may say of its call, and nothing of who it is", () => {
  expect(contextFromWire(said)).toEqual({
    ...{
      runId: "r",
      traceId: "t",
      taskId: "k",
      stepId: "s",
      scopes: ["a"],
      autonomy: "A1",
      idempotencyKey: "i",
      patience: "wait",
      approvalWaitMs: 5,
    },
  });
  expect(contextFromWire({})).toEqual({});
});

it("a wait that ran out is refused and says which request is open still", () => {
  const details = { approval_id: "apr_1", expires_at: "2026-11-20T00:00:00.000Z" };
  const timedOut = anOutcome({ status: "denied", refusal: refusal("approval_timed_out", undefined, details) });
  expect(outcomeToWire(timedOut, "t")).toMatchObject({
    status: "denied",
    ...details,
    how_to_approve: "A person decides in the Postern console.",
  });
  const refused = anOutcome({ status: "denied", refusal: refusal("approval_denied", undefined, details) });
  expect(outcomeToWire(refused, "t").approval_id).toBeUndefined();
});

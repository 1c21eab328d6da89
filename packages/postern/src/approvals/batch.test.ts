import type { ApprovalRecord } from "@postern/core";
import { describe, expect, it } from "vitest";
import { batchProblem } from "./decision.ts";
import { type ApprovalRoute, Routing, unrouted } from "./routes.ts";

const record: ApprovalRecord = {
  id: "apr_1",
  key: "k",
  state: "pending",
  tool: "pay",
  action: "send",
  principal: { tenant: "default", agent: "bot" },
  runId: "r",
  traceId: "0".repeat(32),
  asked: {},
  arguments: {},
  binding: "b",
  definition: "d",
  risk: "high",
  why: [],
  policyVersion: "1",
  requestedAt: 0,
  expiresAt: 1000,
  routed: unrouted,
};
const other = { id: "apr_2" } as const;

function problem(
  changes: Partial<ApprovalRecord>,
  routes: readonly ApprovalRoute[] = [],
  first = record,
): string | undefined {
  const pair = [first, { ...record, ...other, ...changes }].map((approval) => ({ id: approval.id, approval }));
  const by = { user: "ann", tenant: "default" };
  return batchProblem(pair, { by, decision: "approved" }, new Routing(routes))?.message;
}

describe("a batch of two", () => {
  it("is taken when they are alike", () => {
    expect(problem({})).toBeUndefined();
  });

  it.each<readonly [string, Partial<ApprovalRecord>, string]>([
    ["run", { runId: "other" }, "`apr_2` has the run `other`. Decide each of them alone."],
    ["tool", { tool: "other" }, "`apr_2` has the tool `other`. "],
    ["action", { action: "other" }, "`apr_2` has the action `other`. "],
    ["risk", { risk: "medium" }, "`apr_2` has the risk medium. "],
    [
      "reason",
      { why: [{ rule: "matrix A2/high", effect: "CONFIRM" }] },
      "`apr_2` has the reasons: agents at level A2 need approval for high-risk calls. ",
    ],
  ])("is refused when they are of another %s, and says which", (_, changes, text) => {
    expect(problem(changes)).toContain(text);
  });

  it("is refused when one belongs to another tenant, as if it were not there", () => {
    expect(problem({ principal: { tenant: "acme", agent: "bot" } })).toContain("There is no approval `apr_2`");
  });

  it.each<readonly [string, Partial<ApprovalRecord>, readonly ApprovalRoute[]]>([
    ["they are critical, though their route wants nothing typed", { risk: "critical" }, [{ typedConfirmation: false }]],
    ["a route of now wants the name typed", {}, [{ typedConfirmation: true }]],
    ["the name was to be typed when it was asked", { routed: { ...unrouted, typedConfirmation: true } }, []],
  ])("gets no yes when %s", (_, changes, routes) => {
    expect(problem(changes, routes, { ...record, ...changes })).toContain("is approved one by one");
  });
});

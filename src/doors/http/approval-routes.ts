import { z } from "@hono/zod-openapi";
import type { JsonObject } from "../../calls/json.ts";
import type { ApprovalState } from "../../calls/records.ts";
import type { Decided, Decider, DecisionRequest } from "../../face.ts";
import type { Who } from "../credentials.ts";
import { approvalToWire } from "../wire.ts";
import { approvalAnswer, approvalsAnswer, outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { approvalState, jsonObject, limit, type ReasonFields, reason, reasonFields } from "./fields.ts";
import { nothing, operatorRoute, type Route, route } from "./route.ts";
import { visibleApproval, visibleApprovals } from "./visible.ts";

interface ApprovalQuery {
  readonly state?: ApprovalState | undefined;
  readonly limit?: number | undefined;
}

const approvalQuery: z.ZodType<ApprovalQuery> = z.strictObject({
  state: approvalState.optional(),
  limit: limit.optional(),
});

interface ModifyFields extends ReasonFields {
  readonly arguments: JsonObject;
}

const modifyFields: z.ZodType<ModifyFields> = z.strictObject({
  arguments: jsonObject,
  reason: reason.optional(),
});

export const approvalRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/approvals",
    summary: "Requests for approval, old to new. An agent sees its own.",
    body: nothing,
    query: approvalQuery,
    answers: approvalsAnswer,
    run: async ({ runtime, by, query }) => {
      const where = query.state === undefined ? {} : { state: query.state };
      const approvals = await visibleApprovals(runtime, by, where, query.limit ?? 100);
      return answer({ approvals: approvals.map(approvalToWire) });
    },
  }),
  route({
    method: "get",
    path: "/v1/approvals/{id}",
    summary: "One request for approval: exactly what would run, why it is asked, until when.",
    body: nothing,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part }) => {
      const approval = await visibleApproval(runtime, by, part("id"));
      return approval === undefined ? unknownApproval(part("id")) : answer(approvalToWire(approval));
    },
  }),
  decision("approve", "approved", "Approve it as it is."),
  decision("deny", "denied", "Deny it: the tool does not run."),
  decision("skip", "skipped", "Skip it: the agent is told to go on without it."),
  operatorRoute({
    method: "post",
    path: "/v1/approvals/{id}/modify",
    summary: "Approve it with other arguments, which pass every gate now and when they run (D19).",
    body: modifyFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      const request = { ...wordOf("modified", body, by.decider), arguments: body.arguments };
      return answerDecided(await runtime.approvals.decide(part("id"), request));
    },
  }),
  route({
    method: "post",
    path: "/v1/approvals/{id}/withdraw",
    summary: "Take the request back: by whom asked, or by an operator.",
    body: reasonFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      return answerDecided(await runtime.approvals.withdraw(part("id"), withdrawer(by), body.reason));
    },
  }),
  route({
    method: "post",
    path: "/v1/approvals/{id}/resume",
    summary: "Run the approved call, once; every further resume answers its outcome.",
    body: nothing,
    query: nothing,
    answers: outcomeAnswer,
    run: async ({ runtime, by, part, signal }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      const outcome = await runtime.resume(part("id"), { principal: by.principal, signal });
      return outcome === undefined ? unknownApproval(part("id")) : answerOutcome(outcome);
    },
  }),
];

function decision(verb: "approve" | "deny" | "skip", as: "approved" | "denied" | "skipped", summary: string): Route {
  return operatorRoute({
    method: "post",
    path: `/v1/approvals/{id}/${verb}`,
    summary,
    body: reasonFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      return answerDecided(await runtime.approvals.decide(part("id"), wordOf(as, body, by.decider)));
    },
  });
}

/** Who decides is the token's word, never a field of the body (D18). */
function wordOf(as: DecisionRequest["decision"], { reason: given }: ReasonFields, by: Decider): DecisionRequest {
  return { decision: as, by, ...(given !== undefined && { reason: given }) };
}

function withdrawer(by: Who): Decider {
  if (by.role === "operator") return by.decider;
  const { agent, tenant, via } = by.principal;
  return { user: agent, tenant, ...(via !== undefined && { via }) };
}

function answerDecided(decided: Decided): Response {
  if (decided.decided) return answer(approvalToWire(decided.approval));
  return problem(decided.code, decided.message, {
    ...(decided.refusal && { details: { refusal: { ...decided.refusal } } }),
    ...(decided.approval && { beside: { approval: approvalToWire(decided.approval) } }),
  });
}

function unknownApproval(id: string): Response {
  return problem("approval_unknown", `There is no approval \`${id.slice(0, 200)}\`.`);
}

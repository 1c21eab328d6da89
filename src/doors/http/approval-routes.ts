import type { ZodType } from "zod";
import type { BatchRequest, Decider, DecisionRequest, Runtime } from "../../face.ts";
import type { ApprovalFilter } from "../../stores/store.ts";
import type { Who } from "../credentials.ts";
import { approvalToWire } from "../wire-approvals.ts";
import { rememberFromWire } from "../wire-grants.ts";
import { outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { answerDecided, approvalsFor, wholeApproval } from "./approval-answers.ts";
import {
  type ApprovalQuery,
  approvalQuery,
  type BatchFields,
  batchFields,
  type ModifyFields,
  modifyFields,
  type NoFields,
  noFields,
  type YesFields,
  yesFields,
} from "./approval-fields.ts";
import { approvalAnswer, approvalsAnswer, batchAnswer } from "./approval-schemas.ts";
import { deciderOf } from "./decider.ts";
import { reasonFields } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./route.ts";
import { visibleApproval } from "./visible.ts";

export const approvalRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/approvals",
    needs: "approvals:read",
    summary:
      "Requests for approval, a page at a time: what is pending by urgency, all else old to new. `mine`: what you may decide. An agent sees its own.",
    body: nothing,
    query: approvalQuery,
    answers: approvalsAnswer,
    run: ({ runtime, by, query }) => listApprovals(runtime, by, query),
  }),
  route({
    method: "get",
    path: "/v1/approvals/{id}",
    needs: "approvals:read",
    summary: "One request for approval: exactly what would run, why it is asked, of whom, until when.",
    body: nothing,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part }) => {
      const approval = await visibleApproval(runtime, by, part("id"));
      return approval === undefined ? unknownApproval(part("id")) : answer(await wholeApproval(runtime, by, approval));
    },
  }),
  decision("approve", "Approve it as it is; under a quorum, one yes.", yesFields, (body) => ({
    decision: "approved",
    ...saidYes(body),
  })),
  decision("deny", "Deny it: the tool does not run.", noFields, (body) => ({ decision: "denied", ...said(body) })),
  decision("skip", "Skip it: the agent is told to go on without it.", noFields, (body) => ({
    decision: "skipped",
    ...said(body),
  })),
  decision(
    "modify",
    "Approve it with other arguments, which pass every gate now and when they run (D19).",
    modifyFields,
    (body: ModifyFields) => ({ decision: "modified", arguments: body.arguments, ...saidYes(body) }),
  ),
  route({
    method: "post",
    path: "/v1/approvals/batch",
    needs: "approvals:decide",
    summary: "Decide alike requests of one run at once; each is recorded by itself, with an answer of its own.",
    body: batchFields,
    query: nothing,
    answers: batchAnswer,
    run: (asked) => decideMany(asked),
  }),
  route({
    method: "post",
    path: "/v1/approvals/{id}/withdraw",
    needs: "calls:make",
    summary: "Take the request back: by whom asked, or by an operator.",
    body: reasonFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      return answerDecided(runtime, by, await runtime.approvals.withdraw(part("id"), withdrawer(by), body.reason));
    },
  }),
  route({
    method: "post",
    path: "/v1/approvals/{id}/revoke",
    needs: "approvals:decide",
    summary: "Take an approval back that nobody has used yet: the call does not run.",
    body: reasonFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      return answerDecided(runtime, by, await runtime.approvals.revoke(part("id"), deciderOf(by), body.reason));
    },
  }),
  route({
    method: "post",
    path: "/v1/approvals/{id}/resume",
    needs: "calls:make",
    summary: "Run the approved call, once; every further resume answers its outcome.",
    body: nothing,
    query: nothing,
    answers: outcomeAnswer,
    run: async ({ runtime, by, part, signal }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      // A person sees to the calls of others; an agent goes on with its own alone.
      const asker = by.kind === "agent" ? { principal: by.principal } : {};
      const outcome = await runtime.resume(part("id"), { ...asker, signal });
      return outcome === undefined ? unknownApproval(part("id")) : answerOutcome(outcome);
    },
  }),
];

/** Who decides is the credential's word, never a field of the body (D18). */
function decision<Fields extends NoFields>(
  verb: "approve" | "deny" | "skip" | "modify",
  summary: string,
  body: ZodType<Fields>,
  request: (body: Fields) => Omit<DecisionRequest, "by">,
): Route {
  return route({
    method: "post",
    path: `/v1/approvals/{id}/${verb}`,
    needs: "approvals:decide",
    summary,
    body,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body: fields }) => {
      if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
      const decided = await runtime.approvals.decide(part("id"), { ...request(fields), by: deciderOf(by) });
      return answerDecided(runtime, by, decided);
    },
  });
}

function said({
  reason,
  expected_digest: expectedDigest,
}: NoFields): Pick<DecisionRequest, "reason" | "expectedDigest"> {
  return { ...(reason !== undefined && { reason }), ...(expectedDigest !== undefined && { expectedDigest }) };
}

function saidYes(body: YesFields): Omit<DecisionRequest, "by" | "decision"> {
  const { confirmation, remember } = body;
  return {
    ...said(body),
    ...(confirmation !== undefined && { confirmation }),
    ...(remember !== undefined && { remember: rememberFromWire(remember) }),
  };
}

async function listApprovals(runtime: Runtime, by: Who, query: ApprovalQuery): Promise<Response> {
  const { state, risk, tool, run_id: runId, after, limit, mine } = query;
  const { tenant, agent } = by.principal;
  const where: ApprovalFilter = {
    tenant,
    ...(by.kind === "agent" && { agent }),
    ...(state !== undefined && { state }),
    ...(risk !== undefined && { risk }),
    ...(tool !== undefined && { tool }),
    ...(runId !== undefined && { runId }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit }),
  };
  const page = await runtime.approvals.page(where, mine === "true" ? deciderOf(by) : undefined);
  return answer({
    approvals: await approvalsFor(runtime, by, page.approvals),
    next_after: page.nextAfter,
    waiting: page.waiting,
  });
}

async function decideMany({ runtime, by, body, refused }: Asked<BatchFields, unknown>): Promise<Response> {
  const { ids, decision: as, reason, expected_digests: expectedDigests } = body;
  const request: BatchRequest = {
    decision: as,
    by: deciderOf(by),
    ...(reason !== undefined && { reason }),
    ...(expectedDigests !== undefined && { expectedDigests }),
  };
  const made = await runtime.approvals.decideMany(ids, request);
  if (!made.taken) return problem(made.code, made.message);
  for (const { decided } of made.answers) if (!decided.decided) refused();
  return answer({
    answers: made.answers.map(({ id, decided }) => ({
      approval_id: id,
      decided: decided.decided,
      approval: decided.approval && approvalToWire(decided.approval),
      error: decided.decided ? undefined : { code: decided.code, message: decided.message },
    })),
  });
}

function withdrawer(by: Who): Decider {
  if (by.kind === "person") return deciderOf(by);
  const { agent, tenant, via } = by.principal;
  return { user: agent, tenant, ...(via !== undefined && { via }) };
}

function unknownApproval(id: string): Response {
  return problem("approval_unknown", `There is no approval \`${id.slice(0, 200)}\`.`);
}

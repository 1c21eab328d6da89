import type { ZodType } from "zod";
import { noApproval } from "../../approvals/decision.ts";
import type { BatchRequest, Decider, DecisionRequest, Runtime } from "../../face.ts";
import type { ApprovalFilter } from "../../stores/store.ts";
import type { Who } from "../credentials.ts";
import type { DecisionVerb } from "../wire-approvals.ts";
import { rememberFromWire } from "../wire-grants.ts";
import { outcomeAnswer } from "./answer-schemas.ts";
import { answer, answerOutcome, problem } from "./answers.ts";
import { answerDecided, approvalsFor, mayWithdraw, wholeApproval } from "./approval-answers.ts";
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
import { actorOf, deciderOf } from "./decider.ts";
import { reasonFields } from "./fields.ts";
import { type Asked, nothing, type Route, refusePermission, route } from "./route.ts";
import { askerOf, sees, visibleApproval } from "./visible.ts";

export const approvalRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/approvals",
    needs: "approvals:read",
    summary:
      "Requests for approval, a page at a time: what is pending by urgency, what is `decided` new to old, all else old to new. `mine`: what you may decide. An agent sees its own.",
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
  decision("approve", {
    summary: "Approve it as it is; under a quorum, one yes.",
    body: yesFields,
    request: (body) => ({ decision: "approved", ...saidYes(body) }),
  }),
  decision("deny", {
    summary: "Deny it: the tool does not run.",
    body: noFields,
    request: (body) => ({ decision: "denied", ...said(body) }),
  }),
  decision("skip", {
    summary: "Skip it: the agent is told to go on without it.",
    body: noFields,
    request: (body) => ({ decision: "skipped", ...said(body) }),
  }),
  decision("modify", {
    summary: "Approve it with other arguments, which pass every gate now and when they run (D19).",
    body: modifyFields,
    request: (body: ModifyFields) => ({ decision: "modified", arguments: body.arguments, ...saidYes(body) }),
  }),
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
    needs: "approvals:read",
    summary:
      "Take the request back: by whom asked, by an operator, or by who decides, of what an agent of theirs asked.",
    body: reasonFields,
    query: nothing,
    answers: approvalAnswer,
    run: async ({ runtime, by, part, body }) => {
      const approval = await visibleApproval(runtime, by, part("id"));
      if (approval === undefined) return unknownApproval(part("id"));
      if (!mayWithdraw(by, approval)) return refusePermission("calls:make", by);
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
      const approval = await visibleApproval(runtime, by, part("id"));
      if (approval === undefined) return unknownApproval(part("id"));
      if (by.kind === "person" && approval.state === "approved")
        await runtime.note("operator.action.call_resumed", `The approved call of ${approval.tool} is let run`, {
          ...actorOf(by),
          data: { approval_id: approval.id, tool: approval.tool, run: approval.runId },
        });
      const outcome = await runtime.resume(part("id"), { ...askerOf(by), signal });
      return outcome === undefined ? unknownApproval(part("id")) : answerOutcome(outcome, approval.tool);
    },
  }),
];

interface Word<Fields> {
  readonly summary: string;
  readonly body: ZodType<Fields>;
  readonly request: (body: Fields) => Omit<DecisionRequest, "by">;
}

/** Who decides is the credential's word, never a field of the body (D18). */
function decision<Fields extends NoFields>(verb: DecisionVerb, { summary, body, request }: Word<Fields>): Route {
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
  const { tenant } = by.principal;
  const where: ApprovalFilter = {
    tenant,
    ...(by.kind === "agent" && { principal: by.principal }),
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
  const found = made.answers.flatMap(({ decided }) => decided.approval ?? []);
  const approvals = new Map((await approvalsFor(runtime, by, found)).map((one) => [one.approval_id, one]));
  return answer({
    answers: made.answers.map(({ id, decided }) => ({
      approval_id: id,
      decided: decided.decided,
      approval: approvals.get(id),
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
  return problem("approval_unknown", noApproval(id));
}

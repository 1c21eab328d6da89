import { noApproval } from "../../approvals/decision.ts";
import { given } from "../../core/given.ts";
import type { BatchRequest, Decider, DecisionRequest } from "../../runtime/api.ts";
import { approvals } from "../contract/approvals.ts";
import type { Who } from "../credentials.ts";
import { answerOutcome, problem } from "./answers.ts";
import { answerDecided, approvalsFor, mayWithdraw, wholeApproval } from "./approval-answers.ts";
import { actorOf, deciderOf } from "./decider.ts";
import type { ApprovalAnswer } from "./given-approval.ts";
import { rememberOf } from "./remember.ts";
import { type Route, type RouteRequest, refusePermission, serve } from "./route.ts";
import { askerOf, visibleApproval } from "./visible.ts";

export const approvalRoutes: readonly Route[] = serve(approvals, {
  list: async ({ runtime, by, query }) => {
    const { run_id: runId, mine, ...where } = query;
    const { tenant } = by.principal;
    const page = await runtime.approvals.page(
      {
        tenant,
        ...askerOf(by),
        ...given({ ...where, runId }),
      },
      mine === true ? deciderOf(by) : undefined,
    );
    return {
      approvals: await approvalsFor(runtime, by, page.approvals),
      next_after: page.nextAfter,
      waiting: page.waiting,
    };
  },
  show: async ({ runtime, by, part }) => {
    const approval = await visibleApproval(runtime, by, part("id"));
    return approval === undefined ? unknownApproval(part("id")) : wholeApproval(runtime, by, approval);
  },
  approve: (request) => decide(request, { decision: "approved", ...yes(request.body) }),
  deny: (request) => decide(request, { decision: "denied", ...no(request.body) }),
  skip: (request) => decide(request, { decision: "skipped", ...no(request.body) }),
  modify: (request) =>
    decide(request, { decision: "modified", arguments: request.body.arguments, ...yes(request.body) }),
  batch: async ({ runtime, by, body, refused }) => {
    const { ids, decision, reason, expected_digests: expectedDigests } = body;
    const request: BatchRequest = { decision, by: deciderOf(by), ...given({ reason, expectedDigests }) };
    const made = await runtime.approvals.decideMany(ids, request);
    if (!made.taken) return problem(made.code, made.message);
    for (const { decided } of made.answers) if (!decided.decided) refused();
    const found = made.answers.flatMap(({ decided }) => decided.approval ?? []);
    const shown = new Map((await approvalsFor(runtime, by, found)).map((one) => [one.approval_id, one]));
    return {
      answers: made.answers.map(({ id, decided }) => ({
        approval_id: id,
        decided: decided.decided,
        approval: shown.get(id),
        error: decided.decided ? undefined : { code: decided.code, message: decided.message },
      })),
    };
  },
  withdraw: async ({ runtime, by, part, body }) => {
    const approval = await visibleApproval(runtime, by, part("id"));
    if (approval === undefined) return unknownApproval(part("id"));
    if (!mayWithdraw(by, approval)) return refusePermission("calls:make", by);
    return answerDecided(runtime, by, await runtime.approvals.withdraw(part("id"), withdrawer(by), body.reason));
  },
  revoke: async ({ runtime, by, part, body }) => {
    if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
    return answerDecided(runtime, by, await runtime.approvals.revoke(part("id"), deciderOf(by), body.reason));
  },
  resume: async ({ runtime, by, part, signal }) => {
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
});

/** Who decides comes from the credential, never from a field of the body. */
async function decide(
  { runtime, by, part }: RouteRequest,
  request: Omit<DecisionRequest, "by">,
): Promise<Response | ApprovalAnswer> {
  if ((await visibleApproval(runtime, by, part("id"))) === undefined) return unknownApproval(part("id"));
  return answerDecided(runtime, by, await runtime.approvals.decide(part("id"), { ...request, by: deciderOf(by) }));
}

function no({ reason, expected_digest: expectedDigest }: BodyAt<"deny">): Omit<DecisionRequest, "by" | "decision"> {
  return given({ reason, expectedDigest });
}

function yes(body: BodyAt<"approve">): Omit<DecisionRequest, "by" | "decision"> {
  const { confirmation, remember } = body;
  return { ...no(body), ...given({ confirmation, remember: remember && rememberOf(remember) }) };
}

type BodyAt<Name extends keyof typeof approvals> = RouteRequest<(typeof approvals)[Name]>["body"];

function withdrawer(by: Who): Decider {
  if (by.kind === "person") return deciderOf(by);
  const { agent, tenant, via } = by.principal;
  return { user: agent, tenant, ...given({ via }) };
}

function unknownApproval(id: string): Response {
  return problem("approval_unknown", noApproval(id));
}
